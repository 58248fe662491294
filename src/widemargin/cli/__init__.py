"""The ``widemargin`` command: train, predict, evaluate, info, export, gossip, site, study.

Only typer and the standard library are imported here and at the top of the command modules, so
that ``--help`` and mistyped options answer at once; each command imports what it needs.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Annotated

import typer

from .export import export
from .gossip import gossip
from .grouped_help import GroupedCommand
from .info import info
from .predict import evaluate, predict
from .site import site
from .site_membership import join as _join  # noqa: F401
from .study import study
from .train import train

__all__ = ["app", "main"]

app = typer.Typer(
    name="widemargin",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Plain help, grouped by GroupedCommand: forty options do not fit into boxes, and rich takes a
    # while to import.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        typer.echo(f"widemargin {__version__}")
        raise typer.Exit


@app.callback()
def _widemargin(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Train margin classifiers (kernel ODM and SVM) and use them.

    widemargin train data.csv --label income    prepares the table, chooses and tunes a classifier,
    measures it on held-out rows and saves it to data.wm.

    Data files: LIBSVM, CSV, TSV, Parquet and NPZ; text files also as .gz, .bz2 or .xz.

    Exit codes: 0 done; 1 a data or model file cannot be used; 2 wrong usage; 130 interrupted.
    A fit that stops before reaching --tol counts as done: its model is saved, and a warning and the
    reported gap show what it reached.
    """


app.command(cls=GroupedCommand)(train)
app.command(cls=GroupedCommand)(predict)
app.command(cls=GroupedCommand)(evaluate)
app.command(cls=GroupedCommand)(info)
app.command(cls=GroupedCommand)(export)
app.add_typer(gossip)
app.add_typer(site)
app.add_typer(study)


def main() -> None:
    """Run the command with the arguments of this process."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a character of a class name must not end the command.
        with suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    app(prog_name="widemargin")
