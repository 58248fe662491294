"""Rows bigger than memory: copied to disk once, then read by solvers as often as they need."""
