"""Data files and rows bigger than memory."""
