"""The pictures of :mod:`widemargin.plotting`, one file each."""
