"""Models in files: ``.wm``, one safetensors file with a JSON header, read without running code.

>>> from widemargin import load_model, save
>>> save(pipeline, "model.wm")                                              # doctest: +SKIP
>>> load_model("model.wm").predict(X)                                       # doctest: +SKIP

``container`` turns a header and arrays into bytes and back; ``encoding`` and ``decoding`` turn
Python values into JSON and arrays and back; ``estimator_state`` takes estimators apart and builds
them again. ``registry`` lists the classes of this library that a file may name and how to check
their fitted attributes (``checks``, ``kernel_machine``, ``random_features``, ``tables``,
``calibration``), ``known_steps`` those of scikit-learn (``step_checks``, ``target_checks``,
``example_row``).
``atomic_write`` puts bytes on disk; ``model_file`` puts them together.
"""

from .container import ModelFileError
from .model_file import dumps, load_model, loads, save

__all__ = ["ModelFileError", "dumps", "load_model", "loads", "save"]
