"""The pictures of :mod:`widemargin.inspection`, one file each."""
