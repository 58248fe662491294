"""The settings that are tried on held-out rows; contestants with one grid share what is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

from .sets import SETS


def _around(gammas: Iterable[float], Cs: Iterable[float]) -> Callable[[str], dict[str, Any]]:
    """Return multiples of the middle of a set's grid."""
    gammas, Cs = tuple(gammas), tuple(Cs)

    def grid(name: str) -> dict[str, Any]:
        middle = SETS[name]
        found: dict[str, Any] = {"gamma": [each * middle.gamma for each in gammas]}
        return found | ({"C": [each * middle.C for each in Cs]} if Cs else {})

    return grid


def _always(**values: Iterable[Any]) -> Callable[[str], dict[str, Any]]:
    return lambda name: {key: list(each) for key, each in values.items()}


def _eigenpro_grid(name: str) -> dict[str, Any]:
    return {**_around((1 / 16, 1 / 4, 1.0), ())(name), "n_epoch": [3, 10, 30]}


# By name: the contestant that tries them, and the values; the first of equals is taken.
GRIDS: dict[str, tuple[str, Callable[[str], dict[str, Any]]]] = {
    "svm": ("svm", _around((0.5, 1.0, 2.0), (1 / 8, 1.0))),
    "odm": ("odm", _around((0.5, 1.0, 2.0), (1 / 8, 1.0, 8.0))),
    "svm_pairs": ("svm_pairs", _around((0.5, 1.0, 2.0), (1 / 8, 1.0))),
    "svm_ovr": ("svm_ovr", _around((0.5, 1.0, 2.0), (1 / 8, 1.0))),
    "odm_pairs": ("odm_pairs", _around((0.5, 1.0, 2.0), (1 / 8, 1.0, 8.0))),
    "odm_ovr": ("odm_ovr", _around((0.5, 1.0, 2.0), (1 / 8, 1.0, 8.0))),
    "nystroem": ("nystroem_300", _around((1 / 16, 1 / 4, 1.0), (1 / 8, 1.0, 8.0))),
    "nystroem_sgd": ("nystroem_sgd_1000", _around((1 / 16, 1 / 4, 1.0), (1 / 8, 1.0))),
    "fourier": ("fourier_300", _around((1 / 16, 1 / 4, 1.0), (1 / 8, 1.0, 8.0))),
    "fourier_sgd": ("fourier_sgd_1000", _around((1 / 16, 1 / 4, 1.0), (1 / 8, 1.0))),
    "eigenpro": ("eigenpro", _eigenpro_grid),
    "xrfm": (
        "xrfm",
        _always(bandwidth=(2.0, 5.0, 10.0), reg=(1e-3, 1.0), kernel=("l2", "l1")),
    ),
    "trees": ("lightgbm_tuned", _always(learning_rate=(0.05, 0.1, 0.2), min_child_samples=(5, 20))),
    "none": ("", _always()),
    "text_svm": ("ww", _always(C=(0.03, 0.1, 0.3, 1.0, 3.0))),
    "text_ovr": ("ovr", _always(C=(0.1, 0.3, 1.0, 3.0, 10.0))),
    "text_squared": ("linear_svc", _always(C=(0.1, 0.3, 1.0, 3.0, 10.0))),
    "text_tree": ("libmultilabel_tree", _always(C=(0.3, 1.0, 3.0, 10.0))),
    "omikuji": ("omikuji", _always(linear_c=(1.0, 3.0, 10.0), linear_loss_type=(0, 1))),
    "omikuji_flat": ("omikuji_bonsai", _always(linear_c=(1.0, 3.0, 10.0))),
    "vw": ("vw", _always(passes=(5, 20), learning_rate=(0.5, 2.0, 8.0))),
    "cyanure": ("cyanure", _always(lambda_1=(1e-6, 3e-6, 1e-5, 3e-5, 1e-4))),
}


def tried(grid: str, name: str) -> list[dict[str, Any]]:
    """Return all settings of a grid on a set."""
    values = GRIDS[grid][1](name)
    return [dict(zip(values, each, strict=True)) for each in product(*values.values())]
