"""A site as its configuration and rows make it: problem, method, limits and native site."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from ... import _native
from ...core.arrays import Array
from ...core.losses import LossConstants
from ...core.resources import memory_bytes
from ...core.rows import Rows, as_rows
from ...estimators import RandomFeatures
from ...gossip.methods import NativeSite, SiteMethod, SiteSetting
from ...gossip.private import shortened
from ...linear.problem import LinearProblem
from ..agreement import Agreement
from ..config import ConfigError, SiteConfig
from ..network.transport import QUEUED
from ..network.wire import MessageLimits, most_bytes
from .choice import HELD_OUT_WEIGHT, Candidates, Choice, ChoiceLimits
from .column_travel import Way
from .columns import AnySite, ColumnLimits, SiteColumns, models_of
from .exported_model import classifier_of
from .local_rows import LocalRows, read_codes, read_rows, read_site_table
from .scores import SiteHeldOut, correct_rows, held_out_rows
from .site_features import features_of, mapped_rows
from .travel import RowSample, most_travel

__all__ = ["LocalRows", "LocalSite", "classifier_of", "read_codes", "read_rows", "read_site_table"]
# Maximum number of vectors that the native site keeps per link, in addition to queues.
VECTORS_PER_LINK = 3


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
        frame = most_bytes(message_size)
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
            config.tol,
        )
