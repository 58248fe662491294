"""Accuracy against seconds: every contestant at its best settings, and who is on the frontier.

WIDEMARGIN_DATA=folder python -m benchmarks.speed.frontier [--set SET ...] [--contestant NAME ...]
python -m benchmarks.speed.frontier render

Settings are chosen on training rows that are held out (:mod:`.choice`), a small grid for each kind
of contestant (:mod:`.contestants`); the fit that counts uses all training rows. Contestants that
trade accuracy for time have several sizes, each a point of its own. A fit that takes longer than
``--limit`` seconds is stored as such. Libraries that are not installed are skipped with a line.
"""
