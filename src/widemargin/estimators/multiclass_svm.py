"""Support vector machines that learn several classes in one problem."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from ..core.parameters import with_parameters
from ..core.resources import thread_count
from ..core.training_set import TrainingSet
from ..engines import ENGINES, Engine, resolve
from ..multiclass.problem import FORMULATIONS, MulticlassProblem
from ..multiclass.solvers import SOLVERS, refuse
from .multiclass_machine import MulticlassMachine


@with_parameters
class MulticlassSVMClassifier(MulticlassMachine):
    r"""Linear support vector machine with one weight vector per class, all learnt together.

    Minimises :math:`\tfrac12 \sum_c \lVert w_c \rVert^2` plus ``C`` times the loss of every row,
    and predicts the class with the largest :math:`w_c^\top x`. The fit is exact: it ends with a
    duality gap of at most ``tol``, or warns that it did not.

    Parameters
    ----------
    formulation : {'ww', 'llw', 'cs', 'ovr'}, default='ww'
        The loss of a row :math:`x` of class :math:`y`:

        - 'ww' (Weston and Watkins): :math:`\sum_{c \ne y} (1 - w_y^\top x + w_c^\top x)_+`
        - 'cs' (Crammer and Singer): the largest of these terms instead of their sum
        - 'llw' (Lee, Lin and Wahba): :math:`\sum_{c \ne y} (1 + w_c^\top x)_+`, and
          :math:`\sum_c w_c = 0`
        - 'ovr' (one against the rest): :math:`(1 - w_y^\top x)_+ + \sum_{c \ne y}
          (1 + w_c^\top x)_+`, a problem for every class
    solver : str, default='auto'
        'auto', or one of these:

        - 'dual' visits the rows one by one and solves for all of their classes at once.
        - 'proximal', for 'ww', 'cs' and 'llw', accelerates that where ``C`` is large and features
          are many; 'auto' chooses it for 'llw'.
        - 'newton', for 'ww' and 'llw', takes second-order steps in all weights; 'auto' chooses it
          where ``C`` is large and weights are few.
        - 'blocks' visits the rows of several parts at the same time, and combines what they found
          after every pass: for engines with rows elsewhere, where 'auto' chooses it for large sets.
        - 'tournament', for 'ww', visits rows for bundles of classes that meet in pairs, several
          pairs at the same time.
        - 'printed' is the published algorithm, to be cited and compared with: for 'ww' a
          tournament of single classes, one multiplier at a time, and for 'llw' a mean of all
          classes that is updated ten times in an epoch, which hardly converges.
    max_iter : int, default=10000
        Epochs, Newton steps, or passes of 'blocks' allowed.
    engine : {'local', 'spark'} or Engine, default='local'
        Where the work is done: threads of this process, a Spark cluster, or any object with the
        verbs of :class:`widemargin.engines.Engine`. Other engines receive the rows in blocks once;
        'blocks', 'tournament' and 'newton' leave them there, the other solvers bring them into one
        task, as 'auto' does with sets of up to 256 MiB. The model is the same.

    Attributes
    ----------
    coef_ : array or CSR array of shape (n_classes, n_features) or (1, n_features)
        Weights; sparse where at most a quarter of them differs from zero. Two classes have one
        row, :math:`w_1 - w_0` ('ovr': half of it, the one binary machine that both are).
    history_ : dict of arrays
        Per certificate: iteration, seconds, primal, dual, relative_gap; of 'tournament' and
        'blocks' on another engine also bytes_moved, of weights and multipliers so far.

    See Also
    --------
    MulticlassODMClassifier : The margin distribution of all classes.
    LinearSVMClassifier : One binary problem per class, with streams, paths and more losses.
    SVMClassifier : The same with a kernel.

    Notes
    -----
    Scale the features first: the penalty treats all weights alike.

    In sets of up to a million stored values, equal rows of a class are merged and the rows sorted:
    there the model depends neither on the order in which rows are given, nor
    on whether a row is given twice or with twice the weight. In larger ones it does within ``tol``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from widemargin import MulticlassSVMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = MulticlassSVMClassifier("ww", C=0.01).fit(X / 16, y)
    >>> bool(model.relative_gap_ < 1e-3)
    True
    >>> model.predict_top_k(X[:2] / 16, 3).shape
    (2, 3)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "formulation": [StrOptions(set(FORMULATIONS))],
        "solver": [StrOptions({"auto", *SOLVERS})],
        "engine": [StrOptions(set(ENGINES)), Engine],
    }

    formulation: str = field(default="ww", kw_only=False)
    engine: Any = "local"

    def _formulation(self) -> dict[str, Any]:
        return {"formulation": self.formulation}

    def _engine(self) -> Engine:
        return resolve(self.engine, thread_count(self.n_jobs))

    @property
    def _on_own_threads(self) -> bool:
        return isinstance(self.engine, str) and self.engine == "local"

    def _pose(self, training: TrainingSet, engine: Engine) -> MulticlassProblem:
        if self.warm_start and not engine.in_process:
            raise ValueError(
                "`warm_start` works in this process alone, where multipliers are kept; got "
                f"engine={self.engine!r}. Set engine='local' or warm_start=False."
            )
        return super()._pose(training, engine)

    @contextmanager
    def _released(self, engine: Engine) -> Iterator[None]:
        try:
            yield
        finally:
            if isinstance(self.engine, str) and not engine.in_process:
                engine.release()

    def _check_parameters(self) -> None:
        self._validate_params()
        refuse(self.solver, self.formulation)
        if self.warm_start and self.solver == "blocks":
            raise ValueError(
                "`warm_start` needs multipliers, which solver='blocks' leaves with the rows. Use "
                "another solver, or warm_start=False."
            )
