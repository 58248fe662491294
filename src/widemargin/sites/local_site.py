"""The rows of a site, read from its own disk; its native site, and its model as a classifier."""

from __future__ import annotations

import hashlib
import zlib
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from .. import _native
from ..core.arrays import Array
from ..core.losses import LossConstants
from ..core.resources import memory_bytes
from ..core.rows import Rows, as_rows, canonical
from ..data import DataFileError, read
from ..estimators import RandomFeatures
from ..gossip.methods import NativeSite, SiteMethod, SiteSetting
from ..gossip.private import shortened
from ..linear.model import split_weights
from ..linear.problem import LinearProblem
from .agreement import Agreement
from .choice import HELD_OUT_WEIGHT, Candidates, Choice, ChoiceLimits
from .column_travel import Way
from .columns import AnySite, ColumnLimits, SiteColumns, models_of
from .config import ConfigError, SiteConfig
from .preparation import Preparation
from .schema import Schema
from .scores import SiteHeldOut, correct_rows, held_out_rows
from .site_features import features_of, mapped_rows
from .site_table import SiteTable, read_table
from .transport import QUEUED
from .travel import RowSample, most_travel
from .wire import HEADER_BYTES, MessageLimits

__all__ = ["LocalRows", "LocalSite", "classifier_of", "read_codes", "read_rows", "read_site_table"]
# Maximum number of vectors that the native site keeps per link, in addition to queues.
VECTORS_PER_LINK = 3


@dataclass(frozen=True)
class LocalRows:
    """Rows of a site, with the position of their class in the configuration."""

    X: Any
    codes: NDArray[np.int32]
    feature_names: tuple[str, ...] | None
    step: Any = None  # transformer that made the rows of a table, for the exported model

    @property
    def fingerprint(self) -> str:
        """Digest of the rows; a saved state belongs to rows with the same digest."""
        digest = hashlib.blake2b(digest_size=16)
        parts = (self.X.data, self.X.indices, self.X.indptr) if sp.issparse(self.X) else (self.X,)
        for part in (*parts, self.codes):
            array = np.ascontiguousarray(part)
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(array.view(np.uint8).data if array.size else b"")
        return digest.hexdigest()


def read_rows(config: SiteConfig) -> LocalRows:
    """Read the rows that a configuration names.

    DataFileError if the file cannot be used, has other labels, or more rows than the whole network.
    """
    if config.preparation is not None:
        return _prepared_rows(config, config.preparation)
    texts = isinstance(config.classes[0], str)
    table = read(
        config.data,
        format=config.format,
        label=config.label,
        n_features=config.n_features,
        zero_based="auto" if config.zero_based is None else config.zero_based,
        text_labels=texts,
    )
    y: NDArray[Any] = np.asarray(table.y)
    if texts:
        y = y.astype(str)
    elif y.dtype.kind not in "iufb":
        raise DataFileError(
            config.data,
            f"expected labels {_listed(config.classes)}, found text such as {str(y[0])!r}. Set "
            "`network.classes` at all sites.",
        )
    known = np.isin(y, config.classes)
    if not known.all():
        other = y[~known][0].item()
        raise DataFileError(
            config.data,
            f"expected labels {_listed(config.classes)}, found {other!r}. Set "
            "`network.classes` at all sites, or `data.label` to the column of labels.",
        )
    _check_least_rows(config, len(y))
    if config.study is None and len(y) > config.total_rows:
        raise DataFileError(
            config.data,
            f"it has {len(y):,} rows, and all sites together have {config.total_rows:,} by "
            "`network.total_rows`. Set that at all sites to the sum of their rows.",
        )
    codes = np.searchsorted(np.array(config.classes), y).astype(np.int32)
    return LocalRows(canonical(table.X), codes, table.feature_names)


def _listed(classes: tuple[Any, ...]) -> str:
    """Write labels for a message; of many, the first and the last."""
    shown = [repr(each) for each in classes]
    shown = shown if len(shown) <= 6 else [*shown[:3], "…", shown[-1]]
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def _check_least_rows(config: SiteConfig, n_rows: int) -> None:
    if n_rows < config.min_rows:
        raise DataFileError(
            config.data,
            f"it has {n_rows:,} rows, fewer than `network.min_rows`, {config.min_rows:,}. What a "
            "site with few rows sends gives them away to its neighbours. Let it join with more "
            "rows, or together with another site; or lower `network.min_rows` at all sites, if "
            "their operators may see each other's rows.",
        )


def read_site_table(config: SiteConfig, schema: Schema) -> SiteTable:
    """Read the table that a configuration names, by the schema of the study."""
    table = read_table(
        config.data,
        schema,
        format=config.format,
        label=config.label,
        zero_based=config.zero_based,
    )
    _check_least_rows(config, table.n_rows)
    return table


def read_codes(config: SiteConfig) -> NDArray[np.int32]:
    """Read the positions of the rows' classes; DataFileError if the file does not fit."""
    if config.schema is None:
        return read_rows(config).codes
    return read_site_table(config, config.schema).codes.astype(np.int32)


def _prepared_rows(config: SiteConfig, preparation: Preparation) -> LocalRows:
    table = read_site_table(config, preparation.schema)
    _check_least_rows(config, table.n_rows)
    # The model takes what the step gives it, which has no names.
    return LocalRows(
        canonical(preparation.transform(table)),
        table.codes.astype(np.int32),
        None,
        preparation.step(table),
    )


@dataclass
class LocalSite:
    """Problem, method and limits of a site, from its configuration and rows."""

    config: SiteConfig
    rows: LocalRows

    @cached_property
    def features(self) -> RandomFeatures | None:
        """The random features that rows are mapped to, if any."""
        return features_of(self.config, self.rows.X.shape[1])

    @cached_property
    def X(self) -> Any:
        """The rows as they are trained on."""
        X = self.rows.X
        if self.features is not None:
            X = mapped_rows(self.config, self.features, X)
        # Differential privacy needs a bound on what one row can do.
        return shortened(X, self.config.row_norm) if self.config.solver == "private" else X

    @property
    def problem(self) -> LinearProblem:
        """The first problem of this site's rows, weighted as those of all sites."""
        return self._problems(0, True)[0]

    @property
    def n_problems(self) -> int:
        """Number of binary problems of one value of C."""
        classes = len(self.config.classes)
        return 1 if classes == 2 else classes

    def _problems(self, value: int, all_rows: bool) -> list[LinearProblem]:
        """Return the problems of the value of C at a position, one per class if there are more.

        Unless ``all_rows``, held-out rows have next to no weight.
        """
        if (value, all_rows) not in self._posed:
            parameters = self.config.classifier(self.config.values_of_C[value])
            weight = parameters._row_weight(float(self.config.total_rows))
            constants = LossConstants.of(parameters._loss(), weight)
            self._posed[value, all_rows] = [
                LinearProblem(
                    self.X,
                    np.where(self.rows.codes == code, 1, -1).astype(np.int8),
                    constants,
                    weight=None if all_rows else np.where(self.held_out, HELD_OUT_WEIGHT, 1.0),
                    constant=parameters._constant,
                    rows=self._native_rows,
                )
                for code in ((1,) if self.n_problems == 1 else range(self.n_problems))
            ]
        return self._posed[value, all_rows]

    @cached_property
    def _posed(self) -> dict[tuple[int, bool], list[LinearProblem]]:
        return {}

    @cached_property
    def _native_rows(self) -> Rows:
        """The native view of the rows, which all problems share."""
        return as_rows(self.X)

    @cached_property
    def held_out(self) -> NDArray[np.bool_]:
        """Which rows are held out while values of C are compared."""
        return held_out_rows(self.n_rows, self.config.held_out_share, self.config.seed)

    @cached_property
    def method(self) -> SiteMethod:
        """Training method."""
        return cast(SiteMethod, self.config.classifier()._method())

    @cached_property
    def agreed(self) -> Agreement:
        """What neighbours must share: settings, and the names of the columns in their order."""
        names = self.rows.feature_names
        agreed = self.config.agreed
        return agreed if names is None else agreed.with_values(columns=list(names))

    @property
    def n_rows(self) -> int:
        """Number of rows of this site."""
        return len(self.rows.codes)

    def with_config(self, config: SiteConfig) -> LocalSite:
        """Return the same rows with another configuration."""
        other = LocalSite(config, self.rows)
        # The number of sites may differ, but not how rows are mapped.
        for name in ("features", "X", "_native_rows"):
            if name in vars(self):
                vars(other)[name] = vars(self)[name]
        return other

    def native(self, links: int) -> AnySite:
        """Return a native site, or one for each problem, whose links are all closed."""
        if self.config.held_out_share:
            return Choice(self._candidates(links), links)
        parts = self._parts(0, True, links)
        return parts[0] if len(parts) == 1 else SiteColumns(parts)

    def _parts(self, value: int, all_rows: bool, links: int) -> list[NativeSite]:
        problems = self._problems(value, all_rows)
        return [self.method.site(self._setting(links, each)) for each in problems]

    def _candidates(self, links: int) -> Candidates:
        X, codes = self.X[self.held_out], self.rows.codes[self.held_out]
        return Candidates(
            self.config.values_of_C,
            self.n_problems,
            lambda value, all_rows: self._parts(value, all_rows, links),
            SiteHeldOut(X, codes, self.problem.constant),
            self.config.longest_path,
        )

    @cached_property
    def limits(self) -> MessageLimits | ColumnLimits:
        """Limits on what is accepted from neighbours."""
        each = [
            self._limits_of(problem)
            for value in range(len(self.config.values_of_C))
            for problem in self._problems(value, True)
        ]
        if self.config.held_out_share:
            return ChoiceLimits(each, self.config.total_rows)
        return each[0] if len(each) == 1 else ColumnLimits(each)

    def _limits_of(self, problem: LinearProblem) -> MessageLimits:
        config = self.config
        setting = self._setting(0, problem)
        return MessageLimits.of(setting, self.method, config.n_sites, config.max_norm)

    def accuracy(self, models: Array) -> float | None:
        """Return the accuracy of models, one row per problem, on this site's rows."""
        if not self.n_rows:
            return None
        right = correct_rows(self.X, self.rows.codes, models, self.problem.constant)
        return right / self.n_rows

    def exported(self, site: AnySite, agreed: bool, privacy: dict[str, Any] | None = None) -> Any:
        """Return the model of a site as a classifier, or a pipeline."""
        C, history = None, None
        if isinstance(site, Choice):
            C = site.values[site.best]
            if (accuracies := site.accuracies) is not None:
                history = {"C": np.array(site.values), "held_out_accuracy": np.array(accuracies)}
        model = classifier_of(
            self.config,
            models_of(site),
            int(site.steps),
            agreed,
            self.rows.feature_names,
            C=C,
            history=history,
            features=self.features,
            privacy=privacy,
        )
        if self.rows.step is None:
            return model
        steps = model.steps if isinstance(model, Pipeline) else [("classifier", model)]
        return Pipeline([("preparation", self.rows.step), *steps])

    @cached_property
    def ways(self) -> list[Way]:
        """How far neighbours' vectors may go, by problem; empty if the method sends no such."""
        method: Any = self.method
        if method.name != "consensus":
            return []
        found = []
        for value, C in enumerate(self.config.values_of_C):
            weight = self.config.classifier(C)._row_weight(float(self.config.total_rows))
            given = self.config.max_travel
            for problem in self._problems(value, True):
                setting = self._setting(0, problem)
                rhos = method.rhos(problem.constants, setting.total_square, setting.n_links)
                most = most_travel(weight) if given is None else given
                found.append(Way(RowSample(problem, rhos[0]), most, problem.size, len(rhos) - 1))
        return found

    @property
    def mean_square(self) -> float:
        """Mean squared length of this site's rows, including the constant feature."""
        return float(self.problem.squared_norms.mean())

    def check_memory(self, message_size: int, links: int) -> int:
        """Return the bytes of a frame, or raise ConfigError if neighbours need too much memory."""
        frame = HEADER_BYTES + 8 * message_size
        # Each neighbour has two queues in libzmq and one in this process.
        needed = links * (3 * QUEUED * frame + VECTORS_PER_LINK * 8 * message_size)
        limit = memory_bytes(self.config.max_memory)
        if needed > limit:
            raise ConfigError(
                f"{links} neighbours need about {needed / 2**20:.3g} MiB for models of "
                f"{self.problem.size:,} weights, more than `running.max_memory`, "
                f"{self.config.max_memory}. Raise it, or take fewer neighbours."
            )
        return frame

    @property
    def row_square(self) -> float:
        """The agreed mean squared length of a row; that of random features is known."""
        if self.config.solver == "private":
            return self.config.row_norm**2 + self.problem.constant**2
        if self.config.kernel in ("rbf", "laplacian"):
            return 1.0 + self.problem.constant**2
        return self.config.row_square

    def _setting(self, links: int, problem: LinearProblem | None = None) -> SiteSetting:
        config = self.config
        stopping = _native.StoppingRule(
            tol=config.tol, diameter=float(config.longest_path), epsilon=1e-3, quiet=3
        )
        native = _native.SiteSettings(
            links=links,
            number=zlib.crc32(config.name.encode()),
            sites=float(config.n_sites),
            share=1.0 / config.n_sites,
            seed=config.seed,
            stopping=stopping,
        )
        return SiteSetting(
            self.problem if problem is None else problem,
            native,
            config.total_rows,
            self.row_square,
            config.network_links,
            config.longest_path,
            self.n_problems,
        )


def classifier_of(
    config: SiteConfig,
    w: Array,
    steps: int,
    agreed: bool,
    names: tuple[str, ...] | None,
    *,
    C: float | None = None,
    history: dict[str, Array] | None = None,
    features: RandomFeatures | None = None,
    privacy: dict[str, Any] | None = None,
) -> Any:
    """Return a fitted linear classifier with these weights, the intercept's last.

    ``w`` has one row per binary problem, or is the weights of the only one. ``C`` is the chosen
    value and ``history`` its comparison with others. With random features, the model is a pipeline
    that maps rows first. ``privacy`` is what is guaranteed, if anything is. The gaps are NaN even
    if the sites have agreed: a single site cannot certify them.
    """
    from .. import LinearODMClassifier, LinearSVMClassifier

    parameters = config.classifier(C)
    given: dict[str, Any] = {
        "C": parameters._row_weight(float(config.total_rows)),
        "fit_intercept": config.fit_intercept,
        "intercept_scaling": config.intercept_scaling,
        "tol": config.tol,
    }
    model: LinearODMClassifier | LinearSVMClassifier
    if config.loss == "odm":
        model = LinearODMClassifier(upsilon=config.upsilon, theta=config.theta, **given)
    else:
        model = LinearSVMClassifier(loss=config.loss, **given)
    coef, intercept = split_weights(np.atleast_2d(w), parameters._constant)
    fitted = {
        "coef_": coef,
        "intercept_": intercept,
        "dual_gap_": np.nan,
        "relative_gap_": np.nan,
        "converged_": agreed,
        "classes_": np.array(config.classes),
        "n_features_in_": coef.shape[1],
        "n_iter_": steps,
        "solver_": config.solver,
        "history_": {} if history is None else history,
    }
    if privacy is not None:
        fitted["privacy_"] = privacy
    if names is not None and features is None:
        fitted["feature_names_in_"] = np.array(names, dtype=object)
    model.__dict__.update(fitted)
    if features is None:
        return model
    if names is not None:
        features = copy(features)  # that of the site maps arrays without names
        features.feature_names_in_ = np.array(names, dtype=object)
    return Pipeline([("features", features), ("classifier", model)])
