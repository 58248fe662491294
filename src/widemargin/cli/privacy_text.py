"""The privacy account of a site or a model, as a line to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["account_of", "budget_text"]

_FIGURES = ("epsilon", "epsilon_spent", "delta", "releases", "releases_made")


def account_of(estimator: Any) -> dict[str, Any] | None:
    """Return the account of a private model; None for others."""
    account = getattr(estimator, "privacy_", None)
    # A file may hold anything under that name.
    if not isinstance(account, dict):
        return None
    whole = all(isinstance(account.get(name), int | float) for name in _FIGURES)
    return account if whole else None


def budget_text(account: Mapping[str, Any]) -> str:
    """Say how much is spent of a budget, with what it guarantees."""
    made, most = account["releases_made"], account["releases"]
    return (
        f"ε {account['epsilon_spent']:.3g} of {account['epsilon']:g} spent at "
        f"δ {account['delta']:g}, {made:,} of {most:,} releases"
    )
