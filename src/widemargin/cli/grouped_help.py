"""Help whose options stand under headings, in plain text.

Typer groups options in boxes drawn by rich, which takes longer to import than the rest of
``--help`` and leaves half of a terminal's width to the text. The groups are the same here.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperArgument, TyperCommand

#: Heading of options without a group; it comes last.
OTHERS = "Other options"


class GroupedCommand(TyperCommand):
    """A command that lists its options by their ``rich_help_panel``."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options group by group, in the order of the first of each."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        rest: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            if isinstance(parameter, TyperArgument):
                groups["Arguments"].append(record)
                continue
            panel = getattr(parameter, "rich_help_panel", None)
            (rest if panel is None else groups.setdefault(panel, [])).append(record)
        for heading, records in {**groups, OTHERS: rest}.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)
