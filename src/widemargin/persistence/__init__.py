"""Models in files: ``.wm``, one safetensors file with a JSON header, read without running code.

>>> from widemargin import load_model
>>> classifier.save("model.wm")                                             # doctest: +SKIP
>>> load_model("model.wm").predict(X)                                       # doctest: +SKIP

``container`` turns a header and arrays into bytes and back, ``values`` turns Python values into
JSON and arrays, ``kernel_machine``, ``linear_machine`` and ``multiclass_svm`` say what a fitted one
must look like, ``atomic_write`` puts bytes on disk, ``registry`` lists the classes a file may name,
and ``model_file`` puts them together.
"""

from .container import ModelFileError
from .model_file import dumps, load_model, loads, save

__all__ = ["ModelFileError", "dumps", "load_model", "loads", "save"]
