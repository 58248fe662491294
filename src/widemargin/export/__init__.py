"""Fitted models in formats that other programs run: ONNX.

``graph`` builds an ONNX graph operator by operator; ``kernel_values``, ``decisions`` and
``preprocessing`` (with ``columns``) write models and their preprocessing as such operators;
``onnx_model`` puts them together.
"""

from .onnx_model import to_onnx

__all__ = ["to_onnx"]
