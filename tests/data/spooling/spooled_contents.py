"""What is in a spool, for comparison."""

import numpy as np
from scipy.sparse import issparse

from widemargin.data import spool


def contents(source, **options):
    """Spool a source and return dense copies of (X, y, weights)."""
    with spool(source, **options) as rows:
        X = rows.X.toarray() if issparse(rows.X) else np.array(rows.X)
        weights = None if rows.weights is None else np.array(rows.weights)
        y = rows.classes[rows.codes]
        assert rows.codes.dtype == np.int16
        assert X.shape == (rows.n_rows, rows.n_features)
        totals = np.bincount(rows.codes, weights, minlength=len(rows.classes))
        np.testing.assert_allclose(rows.class_totals, totals)
        return X, y, weights
