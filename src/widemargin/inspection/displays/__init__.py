"""The displays of :mod:`widemargin.inspection`, one file each."""
