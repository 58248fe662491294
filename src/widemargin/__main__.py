"""``python -m widemargin`` is the ``widemargin`` command."""

from widemargin.cli import main

main()
