"""The privacy budget of a site: what it has let out about its rows, for ever.

The file ``privacy.json`` in the folder of a site has one number, the square of μ of all releases
that were ever made there (see `widemargin.gossip.privacy`), which only grows. It is written, like
the state, *before* messages are sent. A site whose state is lost, set aside or older than this file
does not know any more what it told its neighbours, and must not start as if it had told them
nothing.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from ...gossip.privacy import PrivacyAccount, epsilon_of
from ...persistence.atomic_write import write_atomically
from ..config import ConfigError, SiteConfig
from .columns import AnySite, columns_of

__all__ = ["PrivacyBudget", "budget_of"]

# Relative rounding of sums.
ROUNDING = 1e-9


def budget_of(config: SiteConfig, n_problems: int) -> PrivacyBudget | None:
    """Return the budget of a site, None if its solver is not private."""
    method: Any = config.classifier()._method()
    if method.name != "private":
        return None
    return PrivacyBudget(config, method.account(n_problems))


class PrivacyBudget:
    """What a site has spent, and may still spend."""

    def __init__(self, config: SiteConfig, account: PrivacyAccount) -> None:
        self.account = account
        self._path, self._config = Path(config.folder) / "privacy.json", config
        self._each = account.problems / account.noise**2  # μ² of a release
        self.made = 0  # by the running state

    def begin(self, site: AnySite) -> None:
        """Compare a site's state with what was spent; ConfigError if the state is behind."""
        self.made = _made(site)
        counted = math.ceil(self._spent() / self._each * (1.0 - ROUNDING) - ROUNDING)
        if counted > self.made:
            if self._config.after_lost_state != "go_on":
                raise ConfigError(self._lost(counted))
            self.exhaust(site, min(counted, self.account.releases))
        self.record(site)

    def record(self, site: AnySite) -> bool:
        """Write down what the site has released; return whether that was the last release.

        Messages may be sent after this returns.
        """
        made, before = _made(site), self.made
        self.made = made
        spent = max(self._spent(), made * self._each)
        if made > before or not self._path.exists():
            text = json.dumps({"version": 1, "mu_squared": spent}) + "\n"
            write_atomically(self._path, text.encode(), mode=0o600, sync=True)
        return made > before and made >= self.account.releases

    def exhaust(self, site: AnySite, releases: int | None = None) -> None:
        """Count releases as made, all of them by default: the site will make as many fewer."""
        for part in columns_of(site):
            part.spend(self.account.releases if releases is None else releases)
        self.made = _made(site)

    def status(self) -> dict[str, Any]:
        """Return what is guaranteed so far, as JSON values."""
        spent = epsilon_of(math.sqrt(self._spent()), self.account.delta)
        statement = self.account.statement(self.made)
        return {**statement, "epsilon_spent": min(spent, max(self.account.epsilon, spent))}

    def _spent(self) -> float:
        try:
            text = self._path.read_text("utf-8")
        except FileNotFoundError:
            return 0.0
        try:
            content = json.loads(text)
            spent = float(content["mu_squared"])
            if content["version"] != 1 or not 0.0 <= spent < math.inf:
                raise ValueError
        except (ValueError, KeyError, TypeError):
            raise ConfigError(
                f"{self._path} is damaged: it says how much of the privacy budget is spent. Put it "
                "back from a backup that is not older than the last run."
            ) from None
        return spent

    def _lost(self, counted: int) -> str:
        spent = epsilon_of(math.sqrt(self._spent()), self.account.delta)
        left = max(0, self.account.releases - counted)
        return (
            f"this site has let out {counted} of {self.account.releases} releases about its rows "
            f"(epsilon {spent:.3g} at delta {self.account.delta:g}, by {self._path.name}), and its "
            "state does not know of all of them: it was lost, set aside, or is an older copy. "
            "Neighbours remember what they were told. Put the last state.wms back; or set "
            '`running.after_lost_state` = "go_on": the site then goes on with the '
            f"{left} releases that are left."
        )


def _made(site: AnySite) -> int:
    return max(int(part.releases) for part in columns_of(site))
