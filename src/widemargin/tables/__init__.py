"""Tables as people have them, made into matrices of numbers that margin classifiers learn from."""

from .preprocessor import TablePreprocessor

__all__ = ["TablePreprocessor"]
