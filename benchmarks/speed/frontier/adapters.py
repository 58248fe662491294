"""Classifiers with ``fit`` and ``predict`` of libraries that have other interfaces.

``prepare`` brings rows into the form that a library reads, before the clock starts.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from sklearn.datasets import dump_svmlight_file
from sklearn.utils.validation import check_X_y

from benchmarks.race.processes import THREADS

# Rows that xRFM keeps for itself: it stops and tunes by them.
XRFM_SHARE, XRFM_ROWS = 0.1, 10_000


class Eigenpro:
    """EigenPro of scikit-learn-extra, which knows neither scikit-learn 1.8 nor SciPy 1.14."""

    def __init__(self, **settings: Any) -> None:
        from sklearn_extra.kernel_methods import EigenProClassifier, _eigenpro

        # An argument of each has another name now.
        _eigenpro.check_X_y = _renamed(check_X_y, "force_all_finite", "ensure_all_finite")
        _eigenpro.eigh = _renamed(eigh, "eigvals", "subset_by_index")
        self.model = EigenProClassifier(random_state=0, **settings)

    def fit(self, X: np.ndarray, y: np.ndarray) -> Eigenpro:
        """Train."""
        self.model.fit(X, y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the classes of rows."""
        return np.asarray(self.model.predict(X))


def _renamed(function: Any, before: str, now: str) -> Any:
    def called(*arguments: Any, **settings: Any) -> Any:
        if before in settings:
            settings[now] = settings.pop(before)
        return function(*arguments, **settings)

    return called


class Xrfm:
    """A tree of recursive feature machines, on two threads of the CPU."""

    def __init__(self, max_leaf_size: int, bandwidth: float, reg: float, kernel: str) -> None:
        from xrfm import xRFM

        # As the package's documentation sets them, but for what the grid varies.
        model = {"kernel": kernel, "bandwidth": bandwidth, "exponent": 1.0, "diag": False}
        model |= {"bandwidth_mode": "constant"}
        fitted = {"reg": reg, "iters": 3, "verbose": False, "early_stop_rfm": True}
        self.model = xRFM(
            rfm_params={"model": model, "fit": fitted},
            max_leaf_size=max_leaf_size,
            device="cpu",
            tuning_metric="accuracy",
            n_threads=THREADS,
            random_state=0,
            verbose=False,
        )

    def fit(self, X: np.ndarray, y: np.ndarray) -> Xrfm:
        """Train."""
        own = min(XRFM_ROWS, int(XRFM_SHARE * len(y)))
        order = np.random.default_rng(0).permutation(len(y))
        held, rest = order[:own], order[own:]
        self.model.fit(X[rest], y[rest], X[held], y[held])
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the classes of rows."""
        return np.ravel(self.model.predict(X))


class Omikuji:
    """Parabel's and Bonsai's label trees; reads its rows from a file, which counts as training."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.folder = Path(tempfile.mkdtemp())

    def prepare(self, X: sp.csr_matrix, y: np.ndarray) -> tuple[Path, Path]:
        """Write the file: a line of sizes, then labels and features of each row."""
        path, rows = self.folder / "rows.txt", self.folder / "rows"
        dump_svmlight_file(X, y, str(rows), zero_based=True)
        sizes = f"{X.shape[0]} {X.shape[1]} {int(y.max()) + 1}\n"
        path.write_text(sizes + rows.read_text("ascii"), "ascii")
        return path, rows

    def fit(self, path: Path, _: Path) -> Omikuji:
        """Train."""
        import omikuji

        chosen = omikuji.Model.default_hyper_param()
        for name, value in self.settings.items():
            setattr(chosen, name, value)
        self.model = omikuji.Model.train_on_data(str(path), chosen, n_threads=THREADS)
        shutil.rmtree(self.folder)
        return self

    def predict(self, X: sp.csr_matrix) -> np.ndarray:
        """Return the classes of rows."""
        found = np.zeros(X.shape[0], dtype=int)
        for row in range(X.shape[0]):
            part = slice(X.indptr[row], X.indptr[row + 1])
            pairs = zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True)
            best = self.model.predict(list(pairs), top_k=1)
            found[row] = best[0][0] if best else 0
        return found


class LibMultiLabel:
    """One of LibMultiLabel's linear techniques, by LIBLINEAR on one or two threads."""

    def __init__(self, technique: str, solver: int, C: float) -> None:
        self.technique = technique
        self.options = f"-s {solver} -c {C} -B 1 -q"
        if technique == "1vsrest":  # the tree starts its own threads
            self.options += f" -m {THREADS}"

    def prepare(self, X: sp.csr_matrix, y: np.ndarray) -> tuple[Any, Any]:
        """Give labels as an indicator matrix."""
        indicators = sp.csr_matrix((np.ones(len(y)), (np.arange(len(y)), y)))
        return X.astype(np.float64), indicators

    def fit(self, X: sp.csr_matrix, indicators: sp.csr_matrix) -> LibMultiLabel:
        """Train."""
        from libmultilabel import linear

        train = {
            "1vsrest": linear.train_1vsrest,
            "multiclass": linear.train_binary_and_multiclass,
            "tree": linear.train_tree,
        }[self.technique]
        self.model = train(indicators, X, options=self.options, verbose=False)
        return self

    def predict(self, X: sp.csr_matrix) -> np.ndarray:
        """Return the classes of rows."""
        from libmultilabel import linear

        scores = linear.predict_values(self.model, X.astype(np.float64))
        return np.asarray(np.argmax(np.asarray(scores), axis=1)).ravel()


class VowpalWabbit:
    """One-vs-rest of VW, in several passes over a cache that is written beforehand."""

    def __init__(self, passes: int, learning_rate: float, loss: str = "hinge") -> None:
        self.passes, self.rate, self.loss = passes, learning_rate, loss
        self.folder = Path(tempfile.mkdtemp())

    def prepare(self, X: sp.csr_matrix, y: np.ndarray) -> tuple[Path, str]:
        """Write rows in random order as text, and from it the cache that VW reads.

        It steps from row to row, and files are often sorted by class.
        """
        path, classes = self.folder / "rows", int(y.max()) + 1
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order], y[order]
        path.write_text("\n".join(_lines(X, y + 1)) + "\n", "ascii")
        # A weight of its own for every feature and class: VW gives each a power of two.
        bits = X.shape[1].bit_length() + (classes - 1).bit_length()
        options = f"--oaa {classes} -d {path} -c -b {bits} --holdout_off"
        _vw(options).finish()
        return path, options

    def fit(self, path: Path, options: str) -> VowpalWabbit:
        """Train."""
        steps = f"--passes {self.passes} -l {self.rate} --loss_function {self.loss}"
        self.model = _vw(f"{options} {steps}")
        shutil.rmtree(self.folder)
        return self

    def predict(self, X: sp.csr_matrix) -> np.ndarray:
        """Return the classes of rows."""
        lines = _lines(X, None)
        return np.array([self.model.predict(line) for line in lines]) - 1


def _lines(X: sp.csr_matrix, labels: np.ndarray | None) -> list[str]:
    lines = []
    for row in range(X.shape[0]):
        part = slice(X.indptr[row], X.indptr[row + 1])
        pairs = zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True)
        label = "" if labels is None else f"{labels[row]} "
        lines.append(label + "| " + " ".join(f"{k}:{value:.6g}" for k, value in pairs))
    return lines


def _vw(options: str) -> Any:
    from vowpalwabbit import Workspace

    return Workspace(f"--quiet {options}")


class Cyanure:
    """One-vs-rest of cyanure with the squared hinge; a constant column stands for intercepts."""

    def __init__(self, lambda_1: float) -> None:
        self.settings = {"lambda_1": lambda_1, "loss": "sqhinge", "penalty": "l2"}

    def prepare(self, X: sp.csr_matrix, y: np.ndarray) -> tuple[Any, np.ndarray]:
        """Add the column."""
        return _with_constant(X), y

    def fit(self, X: sp.csr_matrix, y: np.ndarray) -> Cyanure:
        """Train."""
        from cyanure.estimators import Classifier

        fixed = {"fit_intercept": False, "verbose": False, "multi_class": "ovr"}
        self.model = Classifier(n_threads=THREADS, tol=1e-3, **fixed, **self.settings)
        self.model.fit(X, y)
        return self

    def predict(self, X: sp.csr_matrix) -> np.ndarray:
        """Return the classes of rows."""
        return np.asarray(self.model.predict(_with_constant(X))).ravel()


def _with_constant(X: sp.csr_matrix) -> sp.csr_matrix:
    ones = np.ones((X.shape[0], 1), dtype=X.dtype)
    return sp.hstack([X, ones], format="csr")
