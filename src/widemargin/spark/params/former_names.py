"""Names of Params that have been renamed; they still work, and warn."""

from __future__ import annotations

from typing import Any

from ...core.fit import warn


class FormerPartitions:
    """The Param ``nParts`` under its former name ``nPartitions``."""

    nParts: Any

    @property
    def nPartitions(self) -> Any:
        """The Param ``nParts``; deprecated.

        pyspark looks Params up by attribute, so that keywords, grids and saved stages which say
        ``nPartitions`` end here.
        """
        warn("`nPartitions` has been renamed: use `nParts`.", FutureWarning)
        return self.nParts

    def getNPartitions(self: Any) -> Any:
        """Get the value of ``nParts``; deprecated."""
        return self.getOrDefault(self.nPartitions)

    def setNPartitions(self: Any, value: int) -> Any:
        """Set the value of ``nParts``; deprecated."""
        return self._set(nPartitions=value)
