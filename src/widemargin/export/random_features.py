"""Random features as operators of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from .columns import Columns
from .graph import Graph


def map_to_features(graph: Graph, step: Any, x: Columns) -> Columns:
    """Take sines and cosines of the phases of rows."""
    if step.kernel == "poly":
        raise ValueError(
            "RandomFeatures(kernel='poly') cannot be exported: a tensor sketch is a Fourier "
            "transform, which runtimes have for single precision only. Take 'rbf' or 'laplacian', "
            "or apply the step before the exported model."
        )
    n_components = int(step.n_components)
    weights = np.asarray(step.random_weights_, dtype=np.float64)
    phases = graph.affine(x.name, weights[:-1], weights[-1])
    # A cosine is a sine a quarter turn later; not every runtime has cosines of float64.
    quarter = graph.op("Add", phases, graph.constant(np.array(np.pi / 2)))
    sines = graph.columns(phases, np.arange(n_components // 2))
    turned = graph.op("Concat", quarter, sines, axis=1)
    scale = graph.constant(np.array(np.sqrt(2.0 / n_components)))
    return Columns(graph.op("Mul", graph.op("Sin", turned), scale), n_components)
