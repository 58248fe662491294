"""Saving a fitted classifier."""

from __future__ import annotations

from os import PathLike


class SavableModel:
    """A classifier that can be written to a file once it is fitted."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one ``.wm`` file.

        The file holds numbers and text only; reading it with
        :func:`widemargin.load_model` never executes code. An existing file is replaced
        only once the new one is complete.

        Parameters
        ----------
        path : str or path-like
            Path of the file.
        """
        from ..persistence import save

        save(self, path)
