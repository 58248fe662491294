"""Flower: FedAvg over sites that each train ``SGDClassifier(loss="hinge")``.

Run by the interpreter of an environment that has ``flwr`` and scikit-learn, on rows that
``benchmarks.sites.peers`` wrote; prints one line of JSON.

The clients are Flower's ``NumPyClient``, the server's strategy its ``FedAvg``, and every message
passes through Flower's protobuf serialisation, whose bytes are counted in both directions. They are
driven in one process, all sites in every round: Flower's own simulation engine starts processes of
Ray and does the same arithmetic.

FedAvg's learning rate and local epochs are searched on a fifth of every site's rows; alpha is λ,
which was chosen on such rows, too. Of the settings whose mean accuracy over the second half of
sixty rounds is within 0.1 points of the best, that one is taken which first comes within half a
point of it, and stays there. The rounds that are reported then train on all rows.
"""

from __future__ import annotations

import itertools
import json
import logging
import sys
from typing import Any

import flwr
import numpy as np
from flwr.client import NumPyClient
from flwr.common import (
    FitIns,
    FitRes,
    Status,
    ndarrays_to_parameters,
    parameters_to_ndarrays,
    serde,
)
from flwr.common.typing import Code
from flwr.server.strategy import FedAvg
from sklearn.linear_model import SGDClassifier

logging.getLogger("flwr").setLevel(logging.ERROR)

RATES: tuple[dict[str, Any], ...] = (
    {"learning_rate": "optimal"},
    *({"learning_rate": "constant", "eta0": rate} for rate in (1e-4, 1e-3, 1e-2, 1e-1)),
    *({"learning_rate": "invscaling", "eta0": rate} for rate in (1e-2, 1e-1)),
)
EPOCHS = (1, 5)
SEARCH_ROUNDS = 60
# Settings whose accuracies differ by less than this part are as good as each other.
ALIKE, NEAR = 0.001, 0.005


class Site(NumPyClient):
    """One site: some epochs of SGD on its own rows, from the weights of the server."""

    def __init__(self, X: np.ndarray, y: np.ndarray, settings: dict[str, Any], seed: int) -> None:
        given = {key: value for key, value in settings.items() if key != "epochs"}
        self.model = SGDClassifier(loss="hinge", random_state=seed, **given)
        self.X, self.y, self.epochs = X, y, settings["epochs"]

    def fit(self, parameters: Any, config: Any) -> tuple[list[np.ndarray], int, dict[str, Any]]:
        """Train from the weights of the server."""
        coef, intercept = parameters
        self.model.coef_, self.model.intercept_ = coef.copy(), intercept.copy()
        for _ in range(self.epochs):
            self.model.partial_fit(self.X, self.y, classes=np.array([-1.0, 1.0]))
        return [self.model.coef_, self.model.intercept_], len(self.y), {}


def run(sites: list[Site], size: int, rounds: int) -> tuple[np.ndarray, int]:
    """Return the weights of the server after every round, and the bytes of a round."""
    strategy = FedAvg()
    held = ndarrays_to_parameters([np.zeros((1, size)), np.zeros(1)])
    models, sent = [], 0
    for number in range(1, rounds + 1):
        results = []
        for site in sites:
            there = serde.fit_ins_to_proto(FitIns(held, {})).SerializeToString()
            asked = serde.fit_ins_from_proto(_parsed(serde.fit_ins_to_proto, there))
            arrays, n_rows, _ = site.fit(parameters_to_ndarrays(asked.parameters), {})
            answer = FitRes(Status(Code.OK, ""), ndarrays_to_parameters(arrays), n_rows, {})
            back = serde.fit_res_to_proto(answer).SerializeToString()
            results.append((None, serde.fit_res_from_proto(_parsed(serde.fit_res_to_proto, back))))
            sent += len(there) + len(back)
        held, _ = strategy.aggregate_fit(number, results, [])
        coef, intercept = parameters_to_ndarrays(held)
        models.append(np.append(coef, intercept))
    return np.array(models), sent // rounds


def _parsed(writer: Any, text: bytes) -> Any:
    """Parse a message of the kind that a function of Flower writes."""
    kind = writer.__annotations__["return"]
    if isinstance(kind, str):
        kind = getattr(sys.modules[writer.__module__], kind.rpartition(".")[2])
    return kind.FromString(text)


def accuracy(models: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the accuracy of rows of weights."""
    decisions = X @ models[:, :-1].T + models[:, -1]
    return np.asarray((np.where(decisions > 0, 1.0, -1.0) == y[:, None]).mean(axis=0))


def chosen(tried: list[tuple[dict[str, Any], np.ndarray]]) -> dict[str, Any]:
    """Return the settings that are the most accurate, and of those alike the soonest."""
    late = np.array([course[len(course) // 2 :].mean() for _, course in tried])
    goal = late.max() - NEAR

    def arrival(number: int) -> tuple[int, float]:
        far = np.flatnonzero(tried[number][1] < goal)
        return (int(far[-1]) + 1 if len(far) else 0), -late[number]

    return tried[min(np.flatnonzero(late >= late.max() - ALIKE), key=arrival)][0]


def main() -> int:
    path, rounds = sys.argv[1], int(sys.argv[2])
    with np.load(path) as rows:
        X, y, site, alpha = rows["X"], rows["y"], rows["site"], float(rows["lam"])
    size, rng = X.shape[1], np.random.default_rng(0)
    held = rng.random(len(y)) < 0.2
    numbers = range(int(site.max()) + 1)
    parts = [(site == k) & ~held for k in numbers]
    tried = []
    for rate, epochs in itertools.product(RATES, EPOCHS):
        settings = {**rate, "epochs": epochs, "alpha": alpha}
        sites = [Site(X[part], y[part], settings, k) for k, part in enumerate(parts)]
        models, _ = run(sites, size, SEARCH_ROUNDS)
        tried.append((settings, accuracy(models, X[held], y[held])))
    best = chosen(tried)
    sites = [Site(X[site == k], y[site == k], best, k) for k in numbers]
    models, sent = run(sites, size, rounds)
    print(
        json.dumps(
            {
                "version": flwr.__version__,
                "settings": best,
                "searched": len(tried),
                "bytes_a_round": sent,
                "models": models.tolist(),
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
