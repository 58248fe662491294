r"""Features of a row whose inner products are kernel values, on average over their random draw.

rbf, laplacian
   Pairs :math:`\cos(w^\top x), \sin(w^\top x)` [Rahimi2007] with frequencies :math:`w` drawn
   from the Fourier transform of the kernel: a normal distribution, or Cauchy distributions.
   Frequencies that fill this distribution evenly have a smaller error than independent ones: they
   come from a shifted Sobol sequence [Yang2014], or, for the rbf kernel of many columns, are
   orthogonal in groups [Yu2016].
poly
   A tensor sketch [Pham2013]: the circular convolution of ``degree`` count sketches.

The draw depends on the seed and on the number of columns only, never on rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy import fft
from scipy.special import ndtri

from .arrays import Array
from .random_draws import Draws

# Up to this many columns, Sobol points have the smaller error for the rbf kernel, beyond it
# orthogonal frequencies. Root mean square error of a kernel value, times 10,000, with 256 and 2,048
# features (independent / orthogonal / Sobol; gamma='scale'):
#   8 columns (cod-rna)        579 / 411 / 362    195 / 146 / 104
#   30 columns (breast cancer) 572 / 449 / 447    200 / 151 / 136
#   64 columns (digits)        517 / 298 / 390    197 / 102 / 109
#   784 columns (MNIST)        591 / 557 / 602    213 / 154 / 194
# The laplacian kernel with 2,048 features (independent / Sobol): 222 / 128, 191 / 154, 217 / 167
# and 223 / 179.
SOBOL_COLUMNS = 32
# scipy has Sobol sequences of up to this many dimensions.
MOST_SOBOL_COLUMNS = 21_201
_SOBOL_BITS = 32
# Streams of draws.
_SHIFT, _LENGTH, _PHASE, _PLACE, _SIGN, _DIRECTION = range(6)


def fourier_weights(kernel: str, n_columns: int, n_components: int, seed: int) -> Array:
    """Return frequencies for gamma = 1, as columns, and their phases, as the last row.

    There is one frequency for every pair of features; if their number is odd, the last feature has
    a frequency of its own, with a random phase.
    """
    draws = Draws(seed)
    n_frequencies = (n_components + 1) // 2
    if kernel == "laplacian":
        frequencies = np.tan(np.pi * (_filling(n_frequencies, n_columns, draws) - 0.5))
    elif n_columns <= SOBOL_COLUMNS:
        frequencies = np.sqrt(2.0) * ndtri(_filling(n_frequencies, n_columns, draws))
    else:
        frequencies = np.sqrt(2.0) * _orthogonal(n_frequencies, n_columns, draws)
    phase = np.zeros(n_frequencies)
    if n_components % 2:
        phase[-1] = 2.0 * np.pi * draws.uniform(_PHASE, 1)[0]
    return np.vstack([frequencies.T, phase])


def fourier_features(X: Any, weights: Array, n_components: int, out: NDArray[Any]) -> None:
    """Write the cosines, then the sines, of the rows' phases into ``out``.

    Frequencies of the laplacian kernel are large now and then; float64 rows keep their phases
    right to many digits. Weights must have the type of the rows.
    """
    phases = X @ weights[:-1]
    phases += weights[-1]
    n_sines = n_components // 2
    np.cos(phases, out=out[:, : weights.shape[1]], casting="same_kind")
    np.sin(phases[:, :n_sines], out=out[:, weights.shape[1] :], casting="same_kind")
    out *= out.dtype.type(np.sqrt(2.0 / n_components))


def sketch_weights(n_columns: int, n_components: int, degree: int, seed: int) -> NDArray[np.int64]:
    """Return where each column, and the constant after them, goes in every count sketch.

    The shape is (degree, n_columns + 1). An entry is the place among the components, plus 1,
    negative if the sign of the column changes.
    """
    draws, shape = Draws(seed), (degree, n_columns + 1)
    place = draws.below(n_components, _PLACE, *shape) + 1
    return place * draws.signs(_SIGN, *shape).astype(np.int64)


def sketch_features(
    X: Any, weights: NDArray[np.int64], gamma: float, coef0: float, out: NDArray[Any]
) -> None:
    """Write the tensor sketch of (sqrt(gamma) x, sqrt(coef0)) into ``out``."""
    n_components = out.shape[1]
    n_columns = weights.shape[1] - 1
    spectrum: Any = None
    for each in weights:
        place, sign = np.abs(each) - 1, np.sign(each) * np.sqrt(gamma)
        # Summed in the order of the columns, whatever the library.
        matrix = sp.csr_array(
            (sign[:-1].astype(X.dtype), place[:-1], np.arange(n_columns + 1)),
            shape=(n_columns, n_components),
        )
        sketch = X @ matrix
        sketch = sketch.toarray() if sp.issparse(sketch) else np.asarray(sketch)
        sketch[:, place[-1]] += X.dtype.type(np.sign(each[-1]) * np.sqrt(coef0))
        transformed = fft.rfft(sketch, axis=1)
        spectrum = transformed if spectrum is None else spectrum * transformed
    out[:] = fft.irfft(spectrum, n=n_components, axis=1)


def _filling(n_points: int, n_columns: int, draws: Draws) -> Array:
    """Return points that fill the unit cube evenly, each of them uniformly distributed."""
    if n_columns > MOST_SOBOL_COLUMNS:
        return draws.uniform(_DIRECTION, n_points, n_columns)
    from scipy.stats.qmc import Sobol  # which takes long to import

    sequence = Sobol(n_columns, scramble=False, bits=_SOBOL_BITS)
    points = sequence.random_base2(int(n_points - 1).bit_length())[:n_points]
    whole = (points * 2.0**_SOBOL_BITS).astype(np.uint64)
    shift = draws.words(_SHIFT, n_columns) >> np.uint64(64 - _SOBOL_BITS)
    return np.asarray(((whole ^ shift) + 0.5) * 2.0**-_SOBOL_BITS)


def _orthogonal(n_vectors: int, n_columns: int, draws: Draws) -> Array:
    """Return vectors distributed like normal ones, orthogonal in groups of ``n_columns``."""
    vectors = np.empty((n_vectors, n_columns))
    for group, start in enumerate(range(0, n_vectors, n_columns)):
        end = min(start + n_columns, n_vectors)
        normal = draws.normal(_DIRECTION + 2 * group, n_columns, end - start)
        q, r = np.linalg.qr(normal)
        # The signs that make the factorisation unique, and the directions uniform.
        vectors[start:end] = (q * np.sign(np.diag(r))).T
        other = draws.normal(_DIRECTION + 2 * group + 1, end - start, n_columns)
        vectors[start:end] *= np.linalg.norm(other, axis=1, keepdims=True)
    return vectors
