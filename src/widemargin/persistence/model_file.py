"""Save a fitted estimator or pipeline, and load it again.

A file holds the constructor parameters and the fitted attributes of its estimators, which
`widemargin.persistence.estimator_state` lists and puts back. A new estimator needs a line in the
registry and no code here.
"""

from __future__ import annotations

import os
import stat
from typing import Any

import sklearn
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from . import registry
from .atomic_write import write_atomically
from .container import (
    Arrays,
    Header,
    ModelFileError,
    check_start,
    holds_estimators,
    pack,
    unpack,
)
from .decoding import decode_value
from .encoding import encode_value
from .estimator_state import (
    built_estimator,
    check_estimator_state,
    is_fitted,
    is_known,
    name_of,
    parts_of_estimator,
    version_note,
)
from .known_steps import STEPS


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted estimator or pipeline to a ``.wm`` file.

    A `sklearn.pipeline.Pipeline` is saved whole, with the scaling and encoding that it learnt.

    The file appears whole or not at all: an interrupted save, a full disk or a missing permission
    leaves what was at `path` before.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of this library, or a pipeline of known steps: scikit-learn's
        scalers, encoders, imputers, selectors, ``PCA``, ``TruncatedSVD``, ``ColumnTransformer``,
        ``FeatureUnion`` and others that the user guide lists, ``"passthrough"``, ``"drop"``, and
        estimators of this library; or a ``TransformedTargetRegressor`` or
        ``MultiOutputRegressor`` around a regressor of this library or such a pipeline.
    path : str or path-like
        Where to. The usual suffix is ``.wm``; none is added.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If `estimator` is not fitted.
    TypeError
        If a step is not known, or a parameter cannot be kept without code, such as a function
        as the kernel. The message names the step and the parameter.
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
    routing requests. ``engine`` and ``checkpoint`` become their defaults, as do a pipeline's
    ``memory`` and the ``n_jobs`` of a ``ColumnTransformer``, ``FeatureUnion`` or
    ``MultiOutputRegressor``; a networkx graph given as ``topology`` becomes the matrix of its
    links.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import widemargin
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), widemargin.SVMClassifier()).fit(X, y)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "wine.wm"
    >>> widemargin.save(model, path)
    >>> bool((widemargin.load_model(path).predict(X) == model.predict(X)).all())
    True
    """
    write_atomically(path, dumps(estimator))


def load_model(path: str | os.PathLike[str]) -> Any:
    """Load an estimator or pipeline that `save` wrote.

    Nothing in the file is run, and everything in it is checked, so that a damaged file raises
    and never crashes. A file of unknown origin may still hold a model that predicts anything.

    Parameters
    ----------
    path : str or path-like
        The ``.wm`` file.

    Returns
    -------
    estimator
        The fitted estimator or pipeline.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a model file, was written by a newer version, or holds a
        step that the installed scikit-learn keeps differently than the one it was saved with.
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
    name = name_of(estimator)
    check_is_fitted(estimator)
    arrays: Arrays = {}
    try:
        params, fitted = (
            {key: encode_value(value, key, arrays) for key, value in part.items()}
            for part in parts_of_estimator(estimator, name)
        )
        # Refuse what `loads` would refuse, but after the encoding: that a parameter cannot be saved
        # at all is the more useful message.
        check_estimator_state(estimator, name)
    except InvalidParameterError:
        raise
    except ValueError as error:
        raise ValueError(
            f"{type(estimator).__name__} is in no state to be saved: {error}. Fit it again."
        ) from error
    header: Header = {"library_version": __version__, "estimator": name}
    if name in STEPS or holds_estimators(params) or holds_estimators(fitted):
        header["sklearn_version"] = sklearn.__version__
    return pack({**header, "params": params, "fitted": fitted}, arrays)


def loads(data: bytes) -> Any:
    """Return the estimator that `dumps` turned into `data`."""
    header, arrays = unpack(data, __version__)
    params, fitted = _parts_of(header)
    name = header["estimator"]
    try:
        params = {key: decode_value(node, arrays) for key, node in params.items()}
        fitted = {key: decode_value(node, arrays) for key, node in fitted.items()}
        if arrays:
            raise ModelFileError(f"the file is damaged: nothing uses array {min(arrays)!r}")
        estimator = built_estimator(name, params, fitted)
        if not is_fitted(estimator):
            raise ValueError("it is not fitted")
    except ModelFileError as error:
        raise ModelFileError(f"{error}{version_note(header)}") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(
            f"not a valid {name.rpartition('.')[2]} (written by widemargin "
            f"{header['library_version']}; this is {__version__}): {error}{version_note(header)}"
        ) from error
    return estimator


def _parts_of(header: Header) -> tuple[dict[str, Any], dict[str, Any]]:
    kinds = {"library_version": str, "estimator": str, "params": dict, "fitted": dict}
    for key, kind in kinds.items():
        if not isinstance(header.get(key), kind):
            raise ModelFileError(f"the file is damaged: its header has no {key!r}")
    if not isinstance(header.get("sklearn_version", ""), str):
        raise ModelFileError("the file is damaged: the version of scikit-learn is no text")
    if not is_known(header["estimator"]):
        raise ModelFileError(
            f"the file holds a {header['estimator']!r}, written by widemargin "
            f"{header['library_version']}; this is {__version__}, which knows "
            f"{', '.join(registry.known())} and pipelines of these"
        )
    return header["params"], header["fitted"]
