"""The native site of a configuration: its rows, its problem, its limits."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from ... import _native
from ...core.losses import LossConstants
from ...core.resources import memory_bytes
from ...gossip.methods import NativeSite, SiteMethod, SiteSetting
from ...linear.problem import LinearProblem
from ..config import ConfigError, SiteConfig
from ..protocol.limits import Limits
from ..protocol.transport import QUEUED
from ..protocol.wire import HEADER_BYTES
from .data import LocalRows

__all__ = ["LocalSite"]

# Vectors that the native site keeps per link, at most, beside those that wait in queues.
VECTORS_PER_LINK = 3


@dataclass
class LocalSite:
    """What a site makes of its configuration and its rows."""

    config: SiteConfig
    rows: LocalRows

    @cached_property
    def problem(self) -> LinearProblem:
        """The problem of this site's rows, weighted as those of all sites."""
        parameters = self.config.classifier()
        weight = parameters._row_weight(float(self.config.total_rows))
        return LinearProblem(
            self.rows.X,
            self.rows.label,
            LossConstants.of(parameters._loss(), weight),
            constant=parameters._constant,
        )

    @cached_property
    def method(self) -> SiteMethod:
        """How sites learn."""
        return cast(SiteMethod, self.config.classifier()._method())

    @property
    def n_rows(self) -> int:
        """Number of rows here."""
        return len(self.rows.label)

    def native(self, links: int) -> NativeSite:
        """Make the native site, all of whose links are closed."""
        return self.method.site(self._setting(links))

    @cached_property
    def limits(self) -> Limits:
        """What is believed of neighbours."""
        config = self.config
        return Limits.of(self._setting(0), self.method, config.n_sites, config.max_norm)

    @property
    def mean_square(self) -> float:
        """Mean squared length of the rows here, the constant feature included."""
        return float(self.problem.squared_norms.mean())

    def check_memory(self, message_size: int, links: int) -> int:
        """Return the bytes of a frame, or raise ConfigError if neighbours need too much memory."""
        frame = HEADER_BYTES + 8 * message_size
        # Two queues of libzmq for each neighbour, and one here.
        needed = links * (3 * QUEUED * frame + VECTORS_PER_LINK * 8 * message_size)
        limit = memory_bytes(self.config.max_memory)
        if needed > limit:
            raise ConfigError(
                f"{links} neighbours need about {needed / 2**20:.3g} MiB for models of "
                f"{self.problem.size:,} weights, more than `running.max_memory`, "
                f"{self.config.max_memory}. Raise it, or take fewer neighbours."
            )
        return frame

    def _setting(self, links: int) -> SiteSetting:
        config = self.config
        stopping = _native.StoppingRule(
            tol=config.tol, diameter=float(config.longest_path), epsilon=1e-3, quiet=3
        )
        native = _native.SiteSettings(
            links=links,
            number=zlib.crc32(config.name.encode()),
            sites=float(config.n_sites),
            share=self.n_rows / config.total_rows,
            seed=config.seed,
            stopping=stopping,
        )
        return SiteSetting(
            self.problem, native, config.total_rows, config.row_square, config.network_links
        )
