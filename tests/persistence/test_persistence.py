"""Model files: what comes back is what was saved, and every bad file is refused with its reason."""

from __future__ import annotations

import errno
import json
import math
import os
import stat
import struct
import sys
import threading
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC
from sklearn.utils.fixes import parse_version
from sklearn.utils.validation import check_is_fitted

from widemargin import ODMClassifier, SVMClassifier, load_model
from widemargin.persistence import ModelFileError, dumps, loads, save
from widemargin.persistence import container as container_module
from widemargin.persistence.container import pack, unpack
from widemargin.persistence.decoding import decode_value
from widemargin.persistence.encoding import GOSSIP_KINDS, encode_value, parts_of

GOLDEN = Path(__file__).parent / "golden"


def blobs(n_classes=3, dtype=np.float64, n_rows=40, n_features=4):
    rng = np.random.default_rng(7)
    y = np.arange(n_rows) % n_classes
    X = rng.normal(size=(n_rows, n_features)) + 1.5 * y[:, None]
    X[np.abs(X) < 0.5] = 0
    return X.astype(dtype), y


def assert_same_model(loaded, fitted, X):
    methods = ["predict"] if is_regressor(fitted) else ["predict", "decision_function"]
    if "calibration_" in vars(fitted):
        methods.append("predict_proba")
    for method in methods:
        expected, got = getattr(fitted, method)(X), getattr(loaded, method)(X)
        assert got.dtype.kind == expected.dtype.kind
        assert expected.tolist() == got.tolist()  # bit for bit: no tolerance
    assert params_of(loaded) == params_of(fitted)
    saved = {name for name in vars(fitted) if name.endswith("_") and not name.startswith("_")}
    assert saved <= set(vars(loaded))
    for name in saved:
        assert_same_value(getattr(loaded, name), getattr(fitted, name))


def params_of(estimator):
    """Return the parameters; a strategy object, which is equal to no other, by its own."""
    params = estimator.get_params(deep=False)
    if "strategy" in params:  # not of a search
        params["strategy"] = described_strategy(params["strategy"])
    if "topology" in params:  # of a network, with objects that are compared as values elsewhere
        params = {k: v for k, v in params.items() if k not in ("topology", "solver")}
    return params


def described_strategy(strategy):
    return strategy if isinstance(strategy, str) else [type(strategy).__name__, vars(strategy)]


def assert_same_value(got, expected):
    if sparse.issparse(expected):
        assert type(got) is type(expected)
        assert got.shape == expected.shape
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(got, part), getattr(expected, part))
        assert got.dtype == expected.dtype
    elif isinstance(expected, np.ndarray):
        assert got.dtype.kind == expected.dtype.kind
        if expected.dtype.kind != "U":  # fixed-width text may lose padding
            assert got.dtype == expected.dtype.newbyteorder("=")
        assert got.flags.writeable
        assert got.flags.aligned
        np.testing.assert_array_equal(got, expected)
    elif isinstance(expected, dict):
        assert list(got) == list(expected)
        for key in expected:
            assert_same_value(got[key], expected[key])
    elif isinstance(expected, list):
        for one, other in zip(got, expected, strict=True):
            assert_same_value(one, other)
    elif type(expected) in GOSSIP_KINDS.values():
        assert type(got) is type(expected)
        for one, other in zip(parts_of(got), parts_of(expected), strict=True):
            assert_same_value(one, other)
    else:
        assert type(got) is type(expected)
        both_nan = isinstance(expected, float) and math.isnan(expected) and math.isnan(got)
        assert both_nan or got == expected


# --- round trips ----------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [ODMClassifier, SVMClassifier])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_round_trip_is_bit_identical(cls, n_classes, multi_class, dtype, container, tmp_path):
    X, y = blobs(n_classes, dtype)
    X = container(X)
    fitted = cls(multi_class=multi_class, fit_intercept=True).fit(X, y)
    fitted.save(tmp_path / "model.wm")
    assert_same_model(load_model(tmp_path / "model.wm"), fitted, X)


@pytest.mark.filterwarnings("ignore:The kernel matrix is indefinite")  # sigmoid: gaps are NaN
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear", "sigmoid"])
def test_round_trip_of_every_kernel(kernel):
    X, y = blobs()
    fitted = ODMClassifier(kernel, gamma=0.01, coef0=0.5, degree=2).fit(X, y)
    assert_same_model(loads(dumps(fitted)), fitted, X)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_round_trip_of_a_precomputed_kernel(n_classes):
    X, y = blobs(n_classes)
    fitted = SVMClassifier(kernel="precomputed").fit(X @ X.T, y)
    assert_same_model(loads(dumps(fitted)), fitted, X @ X.T)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["ham", "spam", "träum\u2028"]),
        np.array(["ham", "spam", "\U0001f600"], dtype=object),
        np.array([False, True]),
        np.array([-1, 1], dtype=np.int8),
        np.array([0, 2**63 + 1], dtype=np.uint64),
        np.array([-1.0, 0.0, 1e16]),
        np.array([1, 2, 3], dtype=">i4"),
    ],
    ids=lambda labels: f"{labels.dtype.name}-{len(labels)}",
)
def test_round_trip_of_labels(labels):
    X, y = blobs(len(labels))
    fitted = ODMClassifier().fit(X, labels[y])
    assert_same_model(loads(dumps(fitted)), fitted, X)


def test_feature_names_are_kept_and_still_checked():
    pd = pytest.importorskip("pandas")
    X, y = blobs()
    frame = pd.DataFrame(X, columns=["größe", "b.c", "$d", "e"])
    loaded = loads(dumps(ODMClassifier().fit(frame, y)))
    assert loaded.feature_names_in_.tolist() == ["größe", "b.c", "$d", "e"]
    assert loaded.feature_names_in_.dtype == object
    loaded.predict(frame)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns={"e": "f"}))


def test_parameters_keep_their_types():
    X, y = blobs(2)
    params = {
        "C": np.float32(0.1),
        "gamma": 0.5,
        "class_weight": {0: 2.0, 1: np.float64(0.5)},
        "max_time": None,
        "random_state": 3,
        "fit_intercept": True,
    }
    loaded = loads(dumps(ODMClassifier(**params).fit(X, y))).get_params()
    for name, value in params.items():
        assert_same_value(loaded[name], value)
    for weights in ({"a": 1.0, "b": 2.0}, "balanced"):
        fitted = ODMClassifier(class_weight=weights).fit(X, np.array(["a", "b"])[y])
        assert loads(dumps(fitted)).class_weight == weights


@pytest.mark.parametrize("generator", [np.random.RandomState(0)])
def test_a_generator_is_saved_as_none(generator):
    X, y = blobs(2)
    fitted = ODMClassifier(random_state=generator).fit(X, y)
    loaded = loads(dumps(fitted))
    assert loaded.random_state is None
    assert fitted.random_state is generator
    assert loaded.predict(X).tolist() == fitted.predict(X).tolist()


def test_a_loaded_model_is_a_whole_estimator(tmp_path):
    X, y = blobs()
    fitted = SVMClassifier(C=3.0).fit(X, y)
    loaded = loads(dumps(fitted))
    assert type(loaded) is SVMClassifier
    check_is_fitted(loaded)
    assert clone(loaded).get_params() == fitted.get_params()
    assert dumps(loaded) == dumps(fitted)  # also: equal models give equal bytes
    assert loaded.fit(X, y).predict(X).tolist() == fitted.predict(X).tolist()


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_a_loaded_model_starts_warm_like_the_saved_one(container):
    X, y = blobs()
    X = container(X)
    fitted = SVMClassifier(C=3.0, warm_start=True).fit(X, y)
    loaded = loads(dumps(fitted))
    assert_same_value(loaded.fit(X, y).dual_coef_, fitted.fit(X, y).dual_coef_)


def test_unsorted_sparse_matrices_are_saved_in_order():
    unsorted = sparse.csr_array(
        (np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3)
    )
    arrays = {}
    node = encode_value(unsorted, "a", arrays)
    assert decode_value(node, arrays).toarray().tolist() == [[2, 0, 1], [0, 3, 0]]
    assert unsorted.indices.tolist() == [2, 0, 1]  # the caller's matrix is left alone


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from([np.float32(1 / 3), np.int8(-3), np.bool_(True), np.float64("inf")])
)
arrays_of_all_kinds = st.sampled_from(
    [
        np.arange(6.0).reshape(2, 3)[:, ::2],  # neither contiguous nor C-ordered
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array(1.5),
        np.zeros((0, 3), dtype=np.float32),
        np.array([], dtype="U3"),
        np.array(["a", "\ud800"]),  # a lone surrogate is no Unicode, but is a Python string
        np.arange(3, dtype=">f8"),
        np.array([True, False]),
        sparse.csr_array(np.eye(3, dtype=np.float32)),
        sparse.csr_matrix((0, 10**9)),
    ]
)
keys = st.text(max_size=5) | st.integers() | st.floats(allow_nan=False) | st.just("$array")
values = st.recursive(
    scalars | arrays_of_all_kinds,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(keys, inner, max_size=4)
    ),
    max_leaves=8,
)


@given(values)
def test_any_value_survives(value):
    arrays = {}
    header = {"value": encode_value(value, "value", arrays)}
    header, arrays = unpack(pack(header, arrays), "0")
    assert_same_nested(decode_value(header["value"], arrays), value)
    assert not arrays


def assert_same_nested(got, expected):
    if isinstance(expected, list | tuple):
        assert type(got) is type(expected)
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            assert_same_nested(one, other)
    elif isinstance(expected, dict):
        assert list(got) == list(expected)
        for key, other in expected.items():
            assert_same_nested(got[key], other)
    else:
        assert_same_value(got, expected)


# --- what cannot be saved -------------------------------------------------------------------


def test_an_unfitted_estimator_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        ODMClassifier().save(tmp_path / "model.wm")
    assert not any(tmp_path.iterdir())


def test_a_callable_kernel_is_refused_with_the_reason(tmp_path):
    def my_kernel(X, Y):
        return X @ Y.T

    X, y = blobs(2)
    fitted = SVMClassifier(kernel=my_kernel).fit(X, y)
    reason = r"`kernel` is a function .*my_kernel.*holds no code.*precomputed"
    with pytest.raises(TypeError, match=reason):
        fitted.save(tmp_path / "model.wm")
    assert not any(tmp_path.iterdir())


def test_other_estimators_are_refused():
    class Derived(ODMClassifier):
        pass

    class SVMClassifier(SVC):  # the name alone does not make it ours
        pass

    X, y = blobs(2)
    for estimator in (SVC(), Derived(), SVMClassifier()):
        with pytest.raises(TypeError, match="only estimators of widemargin"):
            dumps(estimator.fit(X, y))


def test_a_model_that_could_not_be_loaded_is_not_saved():
    X, y = blobs(2)
    fitted = ODMClassifier().fit(X, y)
    fitted.dual_coef_ = fitted.dual_coef_[:, 1:]
    with pytest.raises(ValueError, match="`dual_coef_` must be of shape"):
        dumps(fitted)
    fitted = ODMClassifier().fit(X, y).set_params(C=-1.0)
    with pytest.raises(ValueError, match="C"):
        dumps(fitted)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (object(), "of type object"),
        (1j, "of type complex"),
        (np.array([1j]), "dtype complex128"),
        (np.array(["2020"], dtype="M8[D]"), "dtype datetime64"),
        (np.array(["a", object()], dtype=object), r"`x\.1` is of type object"),
        (np.dtype("M8[D]"), "the dtype datetime64"),
        (np.longdouble(1), r"`x` is of dtype"),
        ({(1, 2): 3}, "key of type tuple"),
        (sparse.csc_array(np.eye(2)), "csc_array"),
        (len, r"`x` is a function \(len\)"),
    ],
)
def test_values_a_file_cannot_hold_are_named(value, message):
    with pytest.raises(TypeError, match=message):
        encode_value(value, "x", {})


def test_a_header_that_safetensors_could_not_read_back_is_refused(monkeypatch):
    monkeypatch.setattr(container_module, "MAX_TABLE_BYTES", 1000)
    with pytest.raises(ValueError, match="must fit in 1,000 bytes"):
        pack({"names": ["x" * 100] * 10}, {})


# --- writing --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    X, y = blobs()
    return ODMClassifier().fit(X, np.array(["a", "b", "c"])[y])


@pytest.mark.parametrize("convert", [str, Path, lambda path: os.fspath(path)])
def test_paths_of_every_kind(fitted, tmp_path, convert):
    path = convert(tmp_path / "model")
    save(fitted, path)
    assert type(load_model(path)) is ODMClassifier
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def fail_with(error_number):
    def failing(*args, **kwargs):
        raise OSError(error_number, os.strerror(error_number))

    return failing


@pytest.mark.parametrize(
    ("step", "existing"),
    [("fsync", True), ("fsync", False), ("replace", True), ("replace", False), ("chmod", True)],
)
@pytest.mark.parametrize("error_number", [errno.ENOSPC, errno.EIO, errno.EACCES])
def test_a_failing_step_leaves_the_old_file(
    fitted, tmp_path, monkeypatch, step, existing, error_number
):
    path = tmp_path / "model.wm"
    if existing:
        path.write_bytes(b"old")
    monkeypatch.setattr(os, step, fail_with(error_number))
    with pytest.raises(OSError, match=os.strerror(error_number)):
        fitted.save(path)
    monkeypatch.undo()
    assert [entry.read_bytes() for entry in tmp_path.iterdir()] == [b"old"] * existing


@pytest.mark.skipif(os.name != "posix", reason="directories are synced on POSIX only")
@pytest.mark.parametrize(("error_number", "raises"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_a_directory_that_cannot_be_synced(fitted, tmp_path, monkeypatch, error_number, raises):
    """Some file systems cannot; a disk that fails is still reported. The new file is whole."""
    real_fsync = os.fsync

    def fsync(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(error_number, os.strerror(error_number))
        real_fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)) if raises else nullcontext():
        fitted.save(tmp_path / "model.wm")
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.wm"]
    assert dumps(load_model(tmp_path / "model.wm")) == dumps(fitted)


def test_an_interrupt_leaves_the_old_file(fitted, tmp_path, monkeypatch):
    def interrupted(descriptor):
        raise KeyboardInterrupt

    path = tmp_path / "model.wm"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fitted.save(path)
    assert [entry.read_bytes() for entry in tmp_path.iterdir()] == [b"old"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_a_full_disk_leaves_the_old_file(fitted, tmp_path, monkeypatch):
    """The write itself fails, as it does when the disk fills up."""
    import builtins

    from widemargin.persistence import atomic_write

    def open_full(name, mode, **options):
        Path(name).touch()  # the temporary file is created; only its contents find no room
        return builtins.open("/dev/full", "wb")

    path = tmp_path / "model.wm"
    path.write_bytes(b"old")
    monkeypatch.setattr(atomic_write, "open", open_full, raising=False)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        fitted.save(path)
    assert [entry.read_bytes() for entry in tmp_path.iterdir()] == [b"old"]


def test_a_file_too_large_leaves_the_old_file(fitted, tmp_path):
    """A real limit of the operating system, met half-way through the write."""
    resource = pytest.importorskip("resource")
    signal = pytest.importorskip("signal")
    path = tmp_path / "model.wm"
    path.write_bytes(b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
            fitted.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert [entry.read_bytes() for entry in tmp_path.iterdir()] == [b"old"]


def test_directories_that_cannot_be_written_to(fitted, tmp_path):
    with pytest.raises(FileNotFoundError):
        fitted.save(tmp_path / "missing" / "model.wm")
    with pytest.raises(IsADirectoryError):
        fitted.save(tmp_path)
    assert not any(tmp_path.iterdir())
    if hasattr(os, "geteuid") and os.geteuid() != 0:  # root may write anywhere
        tmp_path.chmod(0o500)
        with pytest.raises(PermissionError):
            fitted.save(tmp_path / "model.wm")
        tmp_path.chmod(0o700)


def test_a_read_only_file_is_not_replaced(fitted, tmp_path, monkeypatch):
    path = tmp_path / "model.wm"
    path.write_bytes(b"old")
    path.chmod(0o400)
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # root may write anything
        monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError):
        fitted.save(path)
    assert path.read_bytes() == b"old"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX file system")
def test_links_permissions_and_special_files(fitted, tmp_path):
    target = tmp_path / "target.wm"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link = tmp_path / "link.wm"
    link.symlink_to(target)
    fitted.save(link)
    assert link.is_symlink()
    assert load_model(target).predict([[0.0] * 4]).shape == (1,)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640

    old_mask = os.umask(0o027)
    try:
        fitted.save(tmp_path / "new.wm")
    finally:
        os.umask(old_mask)
    assert stat.S_IMODE((tmp_path / "new.wm").stat().st_mode) == 0o640

    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="regular file"):
        fitted.save(tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


# --- reading bad files ----------------------------------------------------------------------


def edited(fitted, edit):
    """Return the bytes of a model whose header and arrays were changed, with a valid checksum."""
    header, arrays = unpack(dumps(fitted), "0")
    edit(header, arrays)
    return pack(header, arrays)


def refuse(data, message):
    with pytest.raises(ModelFileError, match=message):
        loads(data)


def test_missing_files_and_directories_raise_what_open_raises(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "missing.wm")
    with pytest.raises(IsADirectoryError):
        load_model(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipe")
def test_a_model_can_come_through_a_pipe(fitted, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(dumps(fitted),))
    writer.start()
    assert dumps(load_model(pipe)) == dumps(fitted)
    writer.join()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "0 bytes are too few"),
        (b"abc", "too few"),
        (b"+1 1:0.5 2:0.25\n" * 50, "not a model file"),
        (b"\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00.", "not a model file"),
        (b"PK\x03\x04" + bytes(100), "not a model file"),
        (struct.pack("<Q", 2**63) + b"{}", "not a model file"),
        (struct.pack("<Q", 50) + b"{}", "truncated"),
        (struct.pack("<Q", 2) + b"{}", "not one that widemargin wrote"),
        (struct.pack("<Q", 2) + b"{[", "not a model file, or damaged"),
        (struct.pack("<Q", 3) + b"{\xff}", "not a model file, or damaged"),
        (struct.pack("<Q", 200_004) + b'{"a":' + b"[" * 199_999, "not a model file, or damaged"),
        (safetensors.numpy.save({"a": np.ones(3)}), "not one that widemargin wrote"),
        (safetensors.numpy.save({}, metadata={"widemargin": "x"}), "header is not JSON"),
        (safetensors.numpy.save({}, metadata={"widemargin": "[1]"}), "does not name the format"),
        (safetensors.numpy.save({}, metadata={"widemargin": "{}"}), "does not name the format"),
        (safetensors.numpy.save({}, metadata={"widemargin": '{"a":1,"a":2}'}), "occurs twice"),
        (safetensors.numpy.save({}, metadata={"widemargin": '{"a":NaN}'}), "NaN is not JSON"),
        (safetensors.numpy.save({}, metadata={"widemargin": '{"a":1e999}'}), "1e999 is too large"),
    ],
)
def test_foreign_files(content, message, tmp_path):
    path = tmp_path / "foreign.wm"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=message) as caught:
        load_model(path)
    assert str(path) in str(caught.value)
    refuse(content, message)


def test_newer_files(fitted):
    data = edited(fitted, lambda header, arrays: header.update(format_version=3, new={"$new": 1}))
    refuse(
        data,
        r"written by a newer widemargin \(format 3\); this is \d.*, "
        r"which reads up to format 2: upgrade widemargin",
    )


def test_a_newer_file_is_recognised_whatever_else_is_in_it():
    """Its checksum, its arrays and the rest of its header may follow rules of their own."""
    header = json.dumps({"format": "widemargin-model", "format_version": 7})
    refuse(safetensors.numpy.save({}, metadata={"widemargin": header}), r"newer .*\(format 7\)")


@pytest.mark.parametrize("format_version", [0, -1, "1", 1.0, True, None])
def test_nonsense_versions(fitted, format_version):
    data = edited(fitted, lambda header, _: header.update(format_version=format_version))
    refuse(data, "its format version is")


def test_every_truncation_is_refused(fitted):
    data = dumps(fitted)
    for length in range(len(data)):
        refuse(data[:length], "not a model file|truncated")


def test_every_flipped_byte_is_refused_or_harmless(fitted):
    """The checksum covers all but the layout: spaces of the header, and the length field."""
    data = dumps(fitted)
    expected = fitted.decision_function(np.eye(4)).tolist()
    survivors = 0
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 0x04
        try:
            loaded = loads(bytes(damaged))
        except ModelFileError:
            continue
        survivors += 1
        assert loaded.decision_function(np.eye(4)).tolist() == expected
    assert survivors < 8  # the padding after the table


def test_trailing_bytes_are_refused(fitted):
    refuse(dumps(fitted) + b"x", "truncated or damaged")


def set_param(name, value):
    return lambda header, arrays: header["params"].update({name: value})


def set_fitted(name, value):
    return lambda header, arrays: header["fitted"].update({name: value})


def set_array(name, function):
    return lambda header, arrays: arrays.update({name: function(arrays[name])})


def with_entry(value, index=0):
    def change(array):
        array = array.copy()
        array.flat[index] = value
        return array

    return change


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda header, _: header.update(estimator="os.system"), "which knows ODMClassifier"),
        (lambda header, _: header.update(estimator=["ODMClassifier"]), "no 'estimator'"),
        (lambda header, _: header.pop("library_version"), "no 'library_version'"),
        (lambda header, _: header.update(params=[]), "no 'params'"),
        (lambda header, _: header.pop("fitted"), "no 'fitted'"),
        (set_param("no_such_parameter", 1), "no_such_parameter"),
        (set_param("kernel", "no_such_kernel"), "kernel"),
        (set_param("kernel", {"$call": "os.system"}), "no kind of value '\\$call'"),
        (set_param("C", -1.0), "C"),
        (set_param("C", {"$float": "nan"}), "C"),
        (set_param("multi_class", "ovo"), None),  # three classes: three problems either way
        (set_fitted("fit", 1), "`fit` is no fitted attribute"),
        (set_fitted("__class__", "x"), "`__class__` is no fitted attribute"),
        (set_fitted("__dict__", {}), "`__dict__` is no fitted attribute"),
        (set_fitted("n_features_in_", 5), "support_vectors_"),
        (set_fitted("n_features_in_", True), "n_features_in_"),
        (set_fitted("n_features_in_", 10**30), "n_features_in_"),
        (set_fitted("gamma_", {"$float": "inf"}), "gamma_"),
        (set_fitted("classes_", {"$strings": ["b", "a", "c"]}), "ascending"),
        (set_fitted("classes_", {"$strings": ["a", "a", "b"]}), "each once"),
        (set_fitted("classes_", {"$strings": ["a", "b"]}), "classes_|n_support_"),
        (set_fitted("classes_", {"$strings": ["a", "b", 1]}), "holds something else"),
        (set_fitted("classes_", {"$strings": ["a" * 9000, *["b"] * 9000]}), "too large"),
        (set_fitted("dual_coef_", {"$array": "no_such_array"}), "missing or used twice"),
        (set_fitted("dual_coef_", {"$array": "support_"}), "missing or used twice"),
        (set_fitted("dual_coef_", 1.0), "nothing uses array 'dual_coef_'"),
        (lambda header, arrays: arrays.update(extra=np.ones(3)), "nothing uses array 'extra'"),
        (lambda header, arrays: arrays.pop("dual_coef_"), "missing or used twice"),
        (lambda header, arrays: header["fitted"].pop("strategy_"), "`strategy_` is missing"),
        (set_array("dual_coef_", lambda a: a[:, 1:]), "dual_coef_"),
        (set_array("dual_coef_", lambda a: a[:2]), "dual_coef_"),
        (set_array("dual_coef_", lambda a: a.astype(np.float32)), "dual_coef_"),
        (set_array("dual_coef_", with_entry(np.nan)), "`dual_coef_` must be finite"),
        (set_array("intercept_", with_entry(np.inf)), "`intercept_` must be finite"),
        (set_array("intercept_", lambda a: a[:-1]), "intercept_"),
        (set_array("support_vectors_", with_entry(-np.inf)), "finite"),
        (set_array("support_vectors_", lambda a: a[:, 1:]), "support_vectors_"),
        (set_array("support_vectors_", lambda a: a.astype(np.int64)), "support_vectors_"),
        (set_array("support_", with_entry(-1)), "support_"),
        (set_array("support_", lambda a: a[1:]), "n_support_"),
        (set_array("n_support_", with_entry(10**9)), "n_support_"),
        (set_fitted("n_samples_fit_", 3), "n_samples_fit_"),
        (set_fitted("history_", {"gap": [1, 2]}), "history_|nothing uses"),
    ],
)
def test_inconsistent_contents(fitted, edit, message):
    data = edited(fitted, edit)
    if message is None:
        loads(data)
    else:
        refuse(data, message)


@pytest.mark.parametrize(
    "edit",
    [
        set_array("support_vectors_.indptr", with_entry(1)),
        set_array("support_vectors_.indptr", with_entry(-1, 1)),
        set_array("support_vectors_.indptr", with_entry(2**31 - 1, 1)),
        set_array("support_vectors_.indptr", with_entry(2**31 - 1, -1)),
        set_array("support_vectors_.indptr", lambda a: a[:-1]),
        set_array("support_vectors_.indptr", lambda a: a.astype(np.float64)),
        set_array("support_vectors_.indices", with_entry(-1)),
        set_array("support_vectors_.indices", with_entry(4)),
        set_array("support_vectors_.indices", lambda a: a[::-1]),
        set_array("support_vectors_.indices", lambda a: np.zeros_like(a)),
        set_array("support_vectors_.indices", lambda a: a.reshape(1, -1)),
        set_array("support_vectors_.data", with_entry(np.nan)),
        set_array("support_vectors_.data", lambda a: a[1:]),
        lambda header, _: header["fitted"]["support_vectors_"]["$csr"].update(shape=[10**18, 4]),
        lambda header, _: header["fitted"]["support_vectors_"]["$csr"].update(shape=[-1, 4]),
        lambda header, _: header["fitted"]["support_vectors_"]["$csr"].update(shape=[4]),
        lambda header, _: header["fitted"]["support_vectors_"]["$csr"].update(kind="exec"),
        lambda header, _: header["fitted"]["support_vectors_"]["$csr"].update(more=1),
    ],
)
def test_inconsistent_sparse_matrices(edit):
    X, y = blobs()
    fitted = ODMClassifier().fit(sparse.csr_matrix(X), y)
    refuse(edited(fitted, edit), "sparse matrix|support_vectors_")


@pytest.mark.parametrize(
    ("indptr", "valid"),
    [([0, 1, 2, 3], True), ([0, 0, 3, 3], True), ([0, 2, 1, 3], False), ([0, 4, 4, 3], False)],
)
def test_row_starts_of_a_sparse_matrix_never_decrease(indptr, valid):
    arrays = {"d": np.ones(3), "i": np.arange(3), "p": np.array(indptr)}
    names = {"data": "d", "indices": "i", "indptr": "p"}
    with nullcontext() if valid else pytest.raises(ModelFileError, match=r"rows .* overlap"):
        decode_value({"$csr": {**names, "shape": [3, 3], "kind": "array"}}, arrays)


def test_truth_values_other_than_two_are_refused():
    X, y = blobs(2)
    data = dumps(ODMClassifier().fit(X, y.astype(bool)))
    header, arrays = unpack(data, "0")
    arrays["classes_"] = np.array([0, 2], dtype=np.uint8).view(bool)
    refuse(pack(header, arrays), "'classes_' is not boolean")


def test_deep_nesting_is_refused(fitted):
    nested = 1
    for _ in range(500):
        nested = [nested]
    refuse(edited(fitted, set_param("C", nested)), "nested too deeply")


@pytest.mark.parametrize("depth", [*range(900, 1000), 10**5])
def test_nesting_at_the_limit_of_the_interpreter_is_refused(depth):
    """Near the limit, JSON may be read that cannot be written again for the checksum."""
    header = '{"format":"widemargin-model","format_version":1,"a":%s}' % ("[" * depth + "]" * depth)
    refuse(safetensors.numpy.save({}, metadata={"widemargin": header}), "damaged")


# --- files of earlier versions --------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.wm")), ids=lambda path: path.stem)
def test_golden_files_still_predict_the_same(path):
    """Every released version's files are read by all later ones."""
    expected = json.loads(path.with_suffix(".json").read_text())
    model = loaded_if_possible(path)
    assert type(model).__name__ == expected["estimator"]
    for name, value in expected["params"].items():
        assert getattr(model, name) == value
    for name, value in expected.get("fitted", {}).items():
        assert getattr(model, name) == value
    if "strategy" in expected:
        assert described_strategy(model.strategy) == expected["strategy"]
    X = expected["X"]
    if expected["dtype"] != "object":
        X = np.array(X, dtype=expected["dtype"])
    if expected["sparse"]:
        X = sparse.csr_matrix(X)
    if expected["columns"]:
        assert model.feature_names_in_.tolist() == expected["columns"]
        X = pytest.importorskip("pandas").DataFrame(X, columns=expected["columns"])
    if not is_regressor(model):
        assert model.predict(X).tolist() == expected["predict"]
    # Values, not bits: the machine that wrote the file may have had other instructions.
    tolerance = 1e-5 if expected["dtype"] == "float32" else 1e-12
    numbers = ("predict",) if is_regressor(model) else ("decision_function", "predict_proba")
    for method in numbers:
        if method in expected:
            found = getattr(model, method)(X)
            np.testing.assert_allclose(found, expected[method], rtol=tolerance, atol=tolerance)
    if expected["estimator"] in ("Pipeline", "AutoClassifier"):  # of estimators, equal to no others
        assert loads(dumps(model)).predict(X).tolist() == expected["predict"]
    else:
        assert_same_model(loads(dumps(model)), model, X)


def loaded_if_possible(path):
    """Load a golden file; skip if a scikit-learn older than the one that wrote it cannot."""
    written = json.loads(unpack_text(path)).get("sklearn_version")
    try:
        return load_model(path)
    except ModelFileError:
        if written is None or parse_version(sklearn.__version__) >= parse_version(written):
            raise
        pytest.skip(f"written with scikit-learn {written}, this is {sklearn.__version__}")


def unpack_text(path):
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    return json.loads(data[8 : 8 + length])["__metadata__"]["widemargin"]


def test_there_are_golden_files():
    assert len(list(GOLDEN.glob("*.wm"))) >= 4
