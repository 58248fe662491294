"""Params of the classifiers and their models."""
