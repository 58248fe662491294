"""Save a fitted estimator and load it again: constructor parameters and fitted attributes.

Any class of `widemargin.persistence.registry` is saved alike: its constructor parameters, its
attributes that end in an underscore, and those it lists in ``_persisted_private``. A new
estimator needs a line in the registry and no code here.
"""

from __future__ import annotations

import os
import stat
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from ..gossip import Topology
from .atomic_write import write_atomically
from .container import Arrays, Header, ModelFileError, check_start, pack, unpack
from .decoding import decode_value
from .encoding import encode_value
from .registry import ESTIMATORS, check_fitted, estimator_class

_NOT_KEPT = {"engine": "local", "checkpoint": None}


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted estimator to a ``.wm`` file.

    The file appears whole or not at all: an interrupted save, a full disk or a missing permission
    leaves what was at `path` before.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of this library.
    path : str or path-like
        Where to. The usual suffix is ``.wm``; none is added.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If `estimator` is not fitted.
    TypeError
        If it is of another library, or a parameter cannot be kept without code, such as a
        function as the kernel.
    OSError
        If the file cannot be written.

    See Also
    --------
    load_model : Load such a file.

    Notes
    -----
    A loaded model predicts bit for bit what the saved one does on the same machine. Some things
    are not kept: a generator given as ``random_state`` becomes None, because its state has moved
    on since it was passed (an integer is kept), so does a splitter given as ``cv``, and metadata
    routing requests. ``engine`` and ``checkpoint`` become their defaults, a networkx graph given
    as ``topology`` the matrix of its links.
    """
    write_atomically(path, dumps(estimator))


def load_model(path: str | os.PathLike[str]) -> Any:
    """Load an estimator that `save` wrote.

    Nothing in the file is run, and everything in it is checked, so that a damaged file raises
    and never crashes. A file of unknown origin may still hold a model that predicts anything.

    Parameters
    ----------
    path : str or path-like
        The ``.wm`` file.

    Returns
    -------
    estimator
        The fitted estimator.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a model file, or was written by a newer version.
    OSError
        If the file cannot be opened or read.
    """
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        try:
            if stat.S_ISREG(status.st_mode):  # a pipe has no size to compare with
                check_start(file.peek(9)[:9], status.st_size)
            return loads(file.read())
        except ModelFileError as error:
            raise ModelFileError(f"cannot load {os.fspath(path)!r}: {error}") from error


def dumps(estimator: Any) -> bytes:
    """Return what `save` would write."""
    name = type(estimator).__name__
    if name not in ESTIMATORS or type(estimator) is not estimator_class(name):
        raise TypeError(
            f"only estimators of widemargin can be saved ({', '.join(ESTIMATORS)}); "
            f"got {type(estimator).__module__}.{type(estimator).__qualname__}."
        )
    check_is_fitted(estimator)
    params = estimator.get_params(deep=False)
    for key, value in params.items():
        generator = isinstance(value, np.random.RandomState | np.random.Generator)
        if generator or (key == "cv" and not isinstance(value, int)):
            params[key] = None
    params = _without_locations(params)
    if "topology" in params:
        params["topology"] = _links_for_graph(params["topology"], estimator.topology_)
    fitted = {key: value for key, value in vars(estimator).items() if _is_saved(key, estimator)}
    arrays: Arrays = {}
    header = {
        "library_version": __version__,
        "estimator": name,
        "params": {key: encode_value(value, key, arrays) for key, value in params.items()},
        "fitted": {key: encode_value(value, key, arrays) for key, value in fitted.items()},
    }
    # Refuse what `loads` would refuse, but after the encoding: that a parameter cannot be saved at
    # all is the more useful message.
    estimator._validate_params()
    try:
        check_fitted(estimator)
    except ValueError as error:
        raise ValueError(f"{name} is in no state to be saved: {error}. Fit it again.") from error
    return pack(header, arrays)


def loads(data: bytes) -> Any:
    """Return the estimator that `dumps` turned into `data`."""
    header, arrays = unpack(data, __version__)
    params, fitted = _parts_of(header)
    name = header["estimator"]
    params = _without_locations({key: decode_value(node, arrays) for key, node in params.items()})
    fitted = {key: decode_value(node, arrays) for key, node in fitted.items()}
    if arrays:
        raise ModelFileError(f"the file is damaged: nothing uses array {min(arrays)!r}")
    cls = estimator_class(name)
    try:
        estimator = cls(**params)
        estimator._validate_params()
        for key, value in fitted.items():
            if not _is_saved(key, estimator):
                raise ValueError(f"`{key}` is no fitted attribute")
            setattr(estimator, key, value)
        check_fitted(estimator)
    except (TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(
            f"not a valid {name} (written by widemargin {header['library_version']}; this is "
            f"{__version__}): {error}"
        ) from error
    return estimator


def _without_locations(params: dict[str, Any]) -> dict[str, Any]:
    """Replace the engine and the checkpoint folder by their defaults.

    They say nothing about the model, and a file of unknown origin should not choose a folder that
    a later fit writes to.
    """
    return {key: _NOT_KEPT.get(key, value) for key, value in params.items()}


def _parts_of(header: Header) -> tuple[dict[str, Any], dict[str, Any]]:
    kinds = {"library_version": str, "estimator": str, "params": dict, "fitted": dict}
    for key, kind in kinds.items():
        if not isinstance(header.get(key), kind):
            raise ModelFileError(f"the file is damaged: its header has no {key!r}")
    if header["estimator"] not in ESTIMATORS:
        raise ModelFileError(
            f"the file holds a {header['estimator']!r}, written by widemargin "
            f"{header['library_version']}; this is {__version__}, which knows "
            f"{', '.join(ESTIMATORS)}"
        )
    return header["params"], header["fitted"]


def _is_saved(name: str, estimator: Any) -> bool:
    public = name.endswith("_") and not name.startswith("_")
    return public or name in getattr(estimator, "_persisted_private", ())


def _links_for_graph(topology: Any, fitted: Topology) -> Any:
    """Return a graph of networkx, which a file cannot hold, as the matrix of its links."""
    if not hasattr(topology, "is_directed"):
        return topology
    ones = np.ones(fitted.n_links, dtype=np.int8)
    shape = (fitted.n_sites, fitted.n_sites)
    return sparse.csr_array((ones, fitted.other, fitted.start), shape=shape)
