"""Divide and conquer: the loop, the table of methods, merging, starts, checkpoints."""
