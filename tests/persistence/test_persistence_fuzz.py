"""Damaged and forged model files: each raises `ModelFileError` or loads a model that predicts.

The mutations run in a process of their own, so that a crash of native code is a failed test and
not the end of the test run. To see one mutation again:

    python tests/test_persistence_fuzz.py --start 1234 --count 1
"""

from __future__ import annotations

import argparse
import copy
import faulthandler
import json
import os
import random
import struct
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
from scipy import sparse
from sklearn.base import is_outlier_detector, is_regressor

from widemargin import load_model
from widemargin.cli.info import describe, described_lines
from widemargin.persistence import ModelFileError, dumps, loads
from widemargin.persistence.container import METADATA_KEY, pack, unpack

GOLDEN = Path(__file__).parent / "golden"
SEED = 20240229
N_FEATURES, N_ROWS = 3, 18  # of the golden models
NUMBERS = [0, 1, -1, 2, 3, 7, 2**31 - 1, 2**31, 2**63 - 1, 2**63, -(2**63), 10**30]
FLOATS = [0.5, -0.0, 1e308, -1e308, 5e-324, 1e-9, 0.2, 1.0]
WORDS = [
    *("", "a", "rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed", "nan"),
    *("ovr", "ovo", "auto", "exact", "coordinate", "newton", "scale", "hinge", "balanced"),
    *("squared_hinge", "1GiB", "ODMClassifier", "SVMClassifier", "dual_coef_", "float32", "$dict"),
    *("LinearODMClassifier", "LinearSVMClassifier", "coef_", "curvature_", "dual", "online"),
    *("MulticlassSVMClassifier", "density_", "ww", "llw", "cs", "printed"),
    *("GossipClassifier", "topology_", "sites_", "ring", "gadget", "norm", "crash", "opposite"),
    *("sigmoid", "isotonic", "binary", "rest", "margins", "pairs", "calibration_", "slope"),
    *("local", "dc", "sodm", "cascade", "routing_", "support_part_", "support_class_", "level_"),
    *("sklearn.pipeline.Pipeline", "sklearn.preprocessing.OneHotEncoder", "sklearn.impute.Imputer"),
    *("sklearn.preprocessing.StandardScaler", "passthrough", "drop", "town", "length", "steps"),
    *("n_features_in_", "categories_", "statistics_", "scale_", "transform", "constant", "ignore"),
    *(
        "most_frequent",
        "infrequent_if_exist",
        "error",
        "first",
        "pandas",
        "object",
        "<U3",
        "median",
    ),
]
NODES = [
    *(None, True, False, [], {}, [[]], [0, 1], {"a": 1}, {"$float": "nan"}, {"$float": "inf"}),
    *({"$tuple": [1, 2]}, {"$dict": [[0, 1.0], [1, 2.0]]}, {"$dict": [["a", -1.0]]}),
    *({"$scalar": ["float32", 0.5]}, {"$scalar": ["int64", 3]}, {"$scalar": ["bool", True]}),
    *({"$strings": ["a", "b"]}, {"$strings": []}, {"$objects": ["a", "b", "c"]}, {"$no": 1}),
    *({"$array": "coef_"}, {"$array": "curvature_"}),
    *({"$array": "dual_coef_"}, {"$array": "support_"}, {"$array": "intercept_"}),
    *({"$array": "support_part_"}, {"$array": "support_class_"}, {"$array": "routing_.0.coef"}),
    *({"$array": "calibration_.slope"}, {"$array": "calibration_.start"}, {"slope": [1.0]}),
    *({"$strategy": ["Cascade", {}]}, {"$strategy": ["Clustered", {"levels": 20, "fan_in": 1024}]}),
    *({"$strategy": ["Stratified", {"n_strata": 10**30}]}, {"$strategy": ["Cascade", {"x": 1}]}),
    *({"$strategy": ["Strategy", {}]}, {"$strategy": "Cascade"}, {"$strategy": ["Cascade"]}),
    {"$strategy": ["Preserving", {"levels": {"$array": "support_"}}]},
    *({"$gossip": ["Consensus", {}]}, {"$gossip": ["Gadget", {"trim": 10**30}]}, {"$gossip": []}),
    *({"$gossip": ["NetworkFaults", {"schedule": [[3, "leave", 0]]}]}, {"$gossip": ["Method", {}]}),
    *({"$gossip": ["NetworkFaults", {"schedule": 3}]}, {"$array": "topology_.start"}),
    *({"$slice": [None, 2, None]}, {"$slice": ["town", None, None]}, {"$slice": [10**30, 0, 0]}),
    *({"$mixed": {"shape": [2], "items": [None, "a"]}}, {"$mixed": {"shape": [0], "items": []}}),
    *({"$mixed": {"shape": [1, 1], "items": [{"$float": "nan"}]}}, {"$type": "int"}),
    *({"$type": "numpy.float32"}, {"$type": "object"}, {"$dtype": "int8"}, {"$dtype": "object"}),
    *({"$function": "numpy.log"}, {"$function": "numpy.save"}, {"$dtype": "<U3"}),
    *({"$function": "sklearn.feature_selection.chi2"}, {"$array": "steps.standardscaler.mean_"}),
    {"$selector": {"pattern": "[", "dtype_include": None, "dtype_exclude": None}},
    {"$estimator": ["sklearn.preprocessing.Normalizer", {"params": {}, "fitted": {}}]},
    {"$estimator": ["sklearn.preprocessing.StandardScaler", {"params": {}, "fitted": {}}]},
    {"$estimator": ["ODMClassifier", {"params": {}, "fitted": {}}]},
    {"$gossip": ["Topology", {"start": {"$array": "topology_.start"}, "other": 3, "reverse": []}]},
]
TABLE_DTYPES = ["F64", "F32", "F16", "BF16", "F8_E4M3", "I64", "I32", "U8", "U64", "BOOL", "X"]
ENTRIES = [np.nan, np.inf, -np.inf, 1e308, 5e-324, 0, 1, -1, 3, 255, 2**31 - 1, -(2**31), 2**62]


def base_files():
    """Return valid files that differ in all a file can differ in.

    The golden models, and not models fitted here, so that every machine tries the same mutations.
    """
    return [dumps(load_model(path)) for path in sorted(GOLDEN.glob("*.wm"))]


# --- mutations: each takes a random generator and the bytes of valid files -------------------


def flip_bits(rng, files):
    data = bytearray(rng.choice(files))
    for _ in range(rng.choice([1, 1, 2, 8])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def set_bytes(rng, files):
    data = bytearray(rng.choice(files))
    for _ in range(rng.choice([1, 1, 4])):
        data[rng.randrange(len(data))] = rng.choice([0, 0xFF, 0x7F, 0x80, *b'"{}[],:0919'])
    return bytes(data)


def delete_bytes(rng, files):
    data = rng.choice(files)
    start = rng.randrange(len(data))
    return data[:start] + data[start + rng.choice([1, 2, 8, 64, len(data)]) :]


def insert_bytes(rng, files):
    data = rng.choice(files)
    start = rng.randrange(len(data) + 1)
    return data[:start] + rng.randbytes(rng.choice([1, 2, 8, 64])) + data[start:]


def splice_files(rng, files):
    one, other = rng.choice(files), rng.choice(files)
    return one[: rng.randrange(len(one))] + other[rng.randrange(len(other)) :]


def change_length_field(rng, files):
    data = rng.choice(files)
    (length,) = struct.unpack_from("<Q", data)
    near = [length + step for step in (-9, -8, -1, 1, 8)]
    return struct.pack("<Q", rng.choice([*near, 0, 1, len(data), 2**32, 2**63])) + data[8:]


def edit_table(rng, files):
    """Change shapes, types, offsets and names in the table of arrays, as valid JSON."""
    data = rng.choice(files)
    (length,) = struct.unpack_from("<Q", data)
    table = json.loads(data[8 : 8 + length])
    names = [name for name in table if name != "__metadata__"]
    entry = table[rng.choice(names)]
    match rng.randrange(5):
        case 0:
            entry["dtype"] = rng.choice(TABLE_DTYPES)
        case 1:
            entry["shape"] = [rng.choice([*NUMBERS, *entry["shape"]]) for _ in entry["shape"]]
        case 2:
            entry["shape"] = rng.choice([entry["shape"][::-1], [*entry["shape"], 1], []])
        case 3:
            entry["data_offsets"][rng.randrange(2)] += rng.choice([-8, -4, 4, 8, 2**62])
        case 4:
            one, other = rng.choice(names), rng.choice(names)
            table[one], table[other] = table[other], table[one]
    text = json.dumps(table).encode()
    return struct.pack("<Q", len(text)) + text + data[8 + length :]


def edit_table_and_reseal(rng, files):
    """The same with a checksum made to match, so that the checks behind it are reached."""
    return reseal(edit_table(rng, files))


def flip_bits_and_reseal(rng, files):
    return reseal(flip_bits(rng, files))


def reseal(data):
    """Return `data` with a matching checksum if it can be taken apart at all."""
    try:
        (length,) = struct.unpack_from("<Q", data)
        arrays = safetensors.numpy.load(data)
        header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"][METADATA_KEY])
        header.pop("sha256", None)
        return pack(header, arrays)
    except Exception:
        return data


def edit_header(rng, files):
    header, arrays = unpack(rng.choice(files), "0")
    change_header(rng, header)
    return pack_if_possible(header, arrays)


def edit_arrays(rng, files):
    header, arrays = unpack(rng.choice(files), "0")
    change_arrays(rng, arrays)
    return pack_if_possible(header, arrays)


def edit_both(rng, files):
    """A matching change of header and arrays gets past checks that compare one with the other."""
    header, arrays = unpack(rng.choice(files), "0")
    change_arrays(rng, arrays)
    change_header(rng, header)
    return pack_if_possible(header, arrays)


def change_header(rng, header):
    """Replace, remove, rename, copy or misspell parts of the JSON header."""
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        places = list(places_of(header))
        holder, key = rng.choice(places)
        match rng.randrange(6):
            case 0 | 1:
                holder[key] = copy.deepcopy(rng.choice([*NODES, *NUMBERS, *FLOATS, *WORDS]))
            case 2:
                del holder[key]
            case 3 if isinstance(holder, dict):
                holder[rng.choice([*WORDS, key + "_", key[:-1]])] = holder.pop(key)
            case 4:
                other, other_key = rng.choice(places)
                holder[key] = copy.deepcopy(other[other_key])
            case _:
                holder[key] = misspelt(rng, holder[key])


def misspelt(rng, node):
    text = json.dumps(node)
    position = rng.randrange(len(text))
    text = text[:position] + rng.choice('0123456789e.-"a[]{}') + text[position + 1 :]
    try:
        return json.loads(text)
    except ValueError:
        return text


def places_of(node):
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in list(items):
        yield node, key
        if isinstance(value, dict | list):
            yield from places_of(value)


def change_arrays(rng, arrays):
    """Change entries, shapes and types of arrays, exchange or repeat them."""
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        name, other = rng.choice(sorted(arrays)), rng.choice(sorted(arrays))
        array = arrays[name]
        match rng.randrange(9):
            case 0 | 1 if array.size:
                entry = np.float64(rng.choice(ENTRIES))
                with np.errstate(all="ignore"):
                    array.flat[rng.randrange(array.size)] = entry.astype(array.dtype)
            case 2 if array.size:
                raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
                raw[rng.randrange(raw.size)] ^= 1 << rng.randrange(8)
                arrays[name] = raw.view(array.dtype).reshape(array.shape)
            case 3:
                arrays[name], arrays[other] = arrays[other], arrays[name]
            case 4:
                arrays[name] = rng.choice([array[1:], array[:-1], array[:0], array[::-1]]).copy()
            case 5:
                forms = [array.T, array.reshape(-1), array[None], array[..., None]]
                arrays[name] = rng.choice(forms).copy()
            case 6:
                dtype = rng.choice(["f4", "f8", "f2", "i4", "i8", "u1", "?", "u8"])
                with np.errstate(all="ignore"):
                    arrays[name] = array.astype(dtype)
            case 7:
                arrays[rng.choice(["extra", name + ".data"])] = array.copy()
            case _:
                arrays[name] = np.concatenate([array, array])


def pack_if_possible(header, arrays):
    try:
        return pack(header, arrays)
    except (ValueError, TypeError, RecursionError):
        return b""


MUTATIONS = [
    *(flip_bits, set_bytes, delete_bytes, insert_bytes, splice_files, change_length_field),
    *(edit_table, edit_table_and_reseal, flip_bits_and_reseal, flip_bits_and_reseal),
    *(edit_header, edit_header, edit_header, edit_arrays, edit_arrays, edit_both),
]
# Without a new checksum, only a file that still says the same may load.
UNSEALED = MUTATIONS[:7]


# --- what must hold of a mutated file --------------------------------------------------------


def outcome(data, samples):
    """Load and predict; return what happened, or raise what must not happen."""
    try:
        model = loads(data)
    except ModelFileError:
        return "refused"
    places = {"checkpoint": None, "engine": "local"}  # or fits of the loaded model would go there
    for name, value in places.items():
        assert getattr(model, name, value) == value
    description = describe(model)  # what the command line tells of it
    json.dumps(description, allow_nan=False)
    assert described_lines(description)
    for X in samples:
        dense_only = hasattr(model, "steps") or getattr(model, "kernel", None) == "precomputed"
        if dense_only and sparse.issparse(X):
            continue  # refused with a TypeError, rightly
        try:
            labels = model.predict(X)
            scores = labels if is_regressor(model) else model.decision_function(X)
            calibrated = getattr(model, "predict_proba", None)
            probabilities = None if calibrated is None else calibrated(X)
        except ValueError:
            continue  # such as: this model wants five features
        assert labels.shape == (X.shape[0],), (labels.shape, X.shape)
        assert scores.shape[0] == X.shape[0]
        if is_outlier_detector(model):
            assert np.isin(labels, [-1, 1]).all()
        elif not is_regressor(model):
            assert np.isin(labels, model.classes_).all()
        if probabilities is not None and np.isfinite(scores).all():
            assert np.all((probabilities >= 0) & (probabilities <= 1))
            assert (model.classes_[probabilities.argmax(axis=1)] == labels).all()
    return "loaded"


def run(seed, start, count, progress_path):
    files = base_files()
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4, N_FEATURES))
    frame = pd.DataFrame(
        {
            "length": [1.0, np.nan, -2.0, 0.5],
            "town": ["Ulm", None, "rare", "new"],
            "grade": [0, 1, 1, 0],
            "weight": [9.0, 8.5, 10.0, 7.0],
        }
    )
    samples = [frame, X, sparse.csr_matrix(X.astype(np.float32)), rng.normal(size=(2, N_ROWS))]
    counts = Counter()
    with open(progress_path, "wb", buffering=0) as progress:
        for number in range(start, start + count):
            progress.seek(0)
            progress.write(b"%d" % number)
            rng = random.Random(f"{seed} {number}")
            mutation = rng.choice(MUTATIONS)
            data = mutation(rng, files)
            result = outcome(data, samples)
            if result == "loaded" and mutation in UNSEALED:
                assert dumps(loads(data)) in files
            counts[result, mutation.__name__] += 1
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--progress", default=os.devnull)
    arguments = parser.parse_args()
    faulthandler.enable()
    warnings.simplefilter("ignore")  # overflow in a forged model is its own business
    limit_memory()
    counts = run(arguments.seed, arguments.start, arguments.count, arguments.progress)
    print(json.dumps([[*key, count] for key, count in sorted(counts.items())]))


def limit_memory():
    """Let a small file that asks for much memory fail here and not on a machine with plenty."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, resource.getrlimit(resource.RLIMIT_AS)[1]))


# --- tests ----------------------------------------------------------------------------------


def fuzz(start, count, tmp_path):
    progress = tmp_path / "progress"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--start", str(start), "--count", str(count)]
    finished = subprocess.run(
        [*command, "--progress", str(progress)],
        env=environment,
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    last = progress.read_text() if progress.exists() else "none"
    trace = finished.stderr.partition("\nExtension modules:")[0]  # a long list, of no use here
    assert finished.returncode == 0, (
        f"mutation {last} ended with {finished.returncode}\n{trace[-4000:]}"
    )
    counts = {(result, name): count for result, name, count in json.loads(finished.stdout)}
    assert sum(counts.values()) == count
    for mutation in MUTATIONS:
        assert counts.get(("refused", mutation.__name__), 0) > 0
    # Without these the checks behind the checksum would not have been reached.
    for name in ("edit_header", "edit_arrays", "edit_both", "flip_bits_and_reseal"):
        assert counts.get(("loaded", name), 0) > 0


def test_mutated_files(tmp_path):
    fuzz(0, 4000, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_hundred_thousand_mutated_files(tmp_path):
    fuzz(0, 100_000, tmp_path)


if __name__ == "__main__":
    main()
