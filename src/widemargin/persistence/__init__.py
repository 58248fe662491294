"""Models in files: ``.wm``, one safetensors file with a JSON header, read without running code.

>>> from widemargin import load_model
>>> classifier.save("model.wm")                                             # doctest: +SKIP
>>> load_model("model.wm").predict(X)                                       # doctest: +SKIP

``container`` turns a header and arrays into bytes and back; ``encoding`` and ``decoding`` turn
Python values into JSON and arrays and back; ``registry`` lists the classes a file may name and how
to check their fitted attributes (``checks``, ``kernel_machine``, ``calibration``);
``atomic_write`` puts bytes on disk; ``model_file`` puts them together.
"""

from .container import ModelFileError
from .model_file import dumps, load_model, loads, save

__all__ = ["ModelFileError", "dumps", "load_model", "loads", "save"]
