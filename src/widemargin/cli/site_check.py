"""``widemargin site check``: what a site would contribute to a study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from . import options
from .files import check_output, write_output
from .messages import BAD_FILE, aligned, faults_reported, plain, print_json, say, usage_error

# Lines of columns that are printed; --json has all.
SHOWN = 20


def check(
    data: Annotated[Path, typer.Argument(help="The data file of the site.", show_default=False)],
    study: Annotated[
        Path | None,
        typer.Option("--study", help="The study, or a schema; found from DATA if left out."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", "-f", help="Folder of a site: compare with what it agreed on."),
    ] = None,
    label: options.Label = None,
    format: options.FileFormat = None,
    min_rows: Annotated[
        int | None,
        typer.Option("--min-rows", help="Rows that a site needs; left out: by the study.", min=0),
    ] = None,
    write_schema: Annotated[
        Path | None,
        typer.Option("--write-schema", help="Write the schema found from DATA to this file."),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Say what DATA would contribute to a study: nothing is sent.

    Columns are matched with those of the study by name. Without --study and --folder, the schema
    that the file itself would give is shown, which --write-schema writes.

    Exit code 1 if the file cannot take part as it is.
    """
    if study is not None and folder is not None:
        raise usage_error("--study and --folder both name the schema; give one of them.")
    with faults_reported():
        from ..sites.preparation.table_report import table_report
        from ..sites.studies.schema import schema_of

        preparation, needed, private = None, 0, False
        if folder is not None:
            schema, preparation, needed, private = _of_folder(folder)
        elif study is not None:
            schema, needed, private = _of_study(study)
        else:
            schema = schema_of(data, label=label, format=format)
        if write_schema is not None:
            check_output(write_schema, "--write-schema", (data,))
            text = json.dumps(schema.to_dict(), indent=1, ensure_ascii=False) + "\n"
            write_output(write_schema, text.encode())
            say(f"schema written to {write_schema}")
        report = table_report(
            data,
            schema,
            preparation=preparation,
            min_rows=needed if min_rows is None else min_rows,
            private=private,
            format=format,
            label=label,
        )
        report["columns"] = [column.to_dict() for column in schema.columns]
        report["ignored"] = list(schema.ignored)
    if as_json:
        print_json(report)
    else:
        _print(plain(report))
    if report["problems"]:
        raise typer.Exit(BAD_FILE)


def _of_study(path: Path) -> tuple[Any, int, bool]:
    """Return the schema of a study, the rows that its sites need, and whether it is private.

    The schema may be in a file of its own. The signature of a study must hold.
    """
    from ..sites.studies.schema import read_schema
    from ..sites.studies.study import STUDY_SETTINGS, read_study

    if path.suffix != ".study":
        return read_schema(path), 0, False
    study = read_study(path)
    needed = study.settings.get("min_rows", STUDY_SETTINGS["min_rows"].default)
    return study.schema, needed, study.settings.get("solver") == "private"


def _of_folder(folder: Path) -> tuple[Any, Any, int, bool]:
    """Return schema, preparation and needed rows of a site, and whether it is private."""
    from ..sites.config import read_config
    from ..sites.preparation.kept_preparation import kept_preparation

    config = read_config(folder)
    if config.schema is None:
        raise usage_error(
            f"--folder {folder}: its site.toml has no schema. Set `network.schema`, or join a "
            "study."
        )
    if config.preparation is not None:  # declared
        return config.schema, config.preparation, config.min_rows, True
    kept = kept_preparation(config)
    return config.schema, None if kept is None else kept[0], config.min_rows, False


def _print(report: dict[str, Any]) -> None:
    lines = [("file", report["file"])]
    if "rows" in report:
        classes = ", ".join(f"{name}: {count:,}" for name, count in report["classes"].items())
        lines += [("rows", f"{report['rows']:,} ({classes})")]
        lines += [("columns", f"{report['n_columns']:,} matched")]
        if report["ignored"]:
            lines += [("ignored", ", ".join(report["ignored"]))]
        lines += [("told", each) for each in report["told"]]
    typer.echo(aligned(lines))
    entries = [*report.get("numbers", {}).items(), *report.get("categories", {}).items()]
    if entries:
        typer.echo("\ncolumn: values")
    for name, entry in entries[:SHOWN]:
        typer.echo(f"  {name}: {_values(entry)}")
    if len(entries) > SHOWN:
        typer.echo(f"  and {len(entries) - SHOWN:,} more (--json has all)")
    for word in ("warnings", "problems"):
        for each in report[word]:
            typer.echo(f"{'warning' if word == 'warnings' else 'PROBLEM'}: {each}")
    typer.echo("cannot take part" if report["problems"] else "can take part")


def _values(entry: dict[str, Any]) -> str:
    missing = f", {entry['missing']:,} missing" if entry["missing"] else ""
    if "levels" in entry:
        rare = f", {entry['rare']:,} of them rare" if entry["rare"] else ""
        return f"{entry['levels']:,} levels{rare}{missing}"
    if "mean" not in entry:
        return "no values"
    return f"{entry['least']:.4g} to {entry['largest']:.4g}, mean {entry['mean']:.4g}{missing}"
