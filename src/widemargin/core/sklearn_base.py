"""scikit-learn's base classes, with types.

scikit-learn has no type hints, so that a checker would accept any attribute of a class derived from
its bases. Checkers see the declarations here instead; at run time the classes are scikit-learn's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from sklearn.utils import Tags

    class BaseEstimator:
        """Base of all estimators."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return the parameters by name."""

        def set_params(self, **params: Any) -> Self:
            """Set some of the parameters."""

        def get_metadata_routing(self) -> Any:
            """Return how metadata are routed."""

        def _validate_params(self) -> None: ...

        def __sklearn_tags__(self) -> Tags: ...

    class ClassifierMixin:
        """What all classifiers share."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
            """Return the share of rows whose label is predicted."""

        def __sklearn_tags__(self) -> Tags: ...

    class RegressorMixin:
        """What all regressors share."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
            """Return the coefficient of determination of the predictions."""

        def __sklearn_tags__(self) -> Tags: ...

else:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

__all__ = ["BaseEstimator", "ClassifierMixin", "RegressorMixin"]
