"""``widemargin gossip``: sites that keep their rows agree on a model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from . import options
from .files import as_csv, check_model_output, check_output, read_file, write_output
from .gossip_demo import demo
from .info import describe, described_lines
from .messages import INTERRUPTED, faults_reported, print_summary, say, usage_error, warnings_shown
from .network import faults_with, network_estimator, solver_with, spelled, topology_with
from .options import option, parse_class_weight
from .site import check_transport
from .training import begun, save_model, set_feature_names, set_index_base, timed

gossip = typer.Typer(
    name="gossip",
    help="Train where rows may not be pooled.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@gossip.command()
def simulate(
    context: typer.Context,
    data: options.DataPath,
    model: Annotated[Path | None, option("Where to save the model (.wm).", "--model", "-m")] = None,
    history: Annotated[Path | None, option("Where to write the course of the fit, as CSV.")] = None,
    n_sites: Annotated[
        int | None, option("Sites that the rows are dealt out to; 10 if left out.", "--sites")
    ] = None,
    topology: Annotated[
        str | None,
        option(
            "Who talks to whom: ring, complete, star, grid, torus, random_regular, "
            "erdos_renyi or small_world."
        ),
    ] = None,
    topology_option: Annotated[
        list[str] | None, option("NAME=VALUE, such as degree=4 (repeat for more).")
    ] = None,
    kernel: Annotated[
        str | None, option("linear, or by random features rbf, laplacian or poly.")
    ] = None,
    n_components: Annotated[
        int | None, option("rbf, laplacian, poly: number of random features.", "--components")
    ] = None,
    gamma: Annotated[
        float | None, option("rbf, laplacian, poly: constant; 1 / features if left out.")
    ] = None,
    degree: Annotated[int | None, option("poly: degree.")] = None,
    coef0: Annotated[float | None, option("poly: constant.")] = None,
    loss: Annotated[str | None, option("hinge, squared_hinge or odm.")] = None,
    C: Annotated[
        list[float] | None,
        option("Weight of a row's loss (repeat for values that sites choose from).", "-C", "--C"),
    ] = None,
    holdout: Annotated[
        float | None, option("Share of rows that sites hold out to choose C by.")
    ] = None,
    lam: Annotated[float | None, option("λ, on the papers' scale, for -C.")] = None,
    upsilon: options.Upsilon = None,
    theta: options.Theta = None,
    fit_intercept: options.Intercept = None,
    class_weight: options.ClassWeight = None,
    solver: Annotated[str | None, option("consensus, gadget, gadget_printed or tracking.")] = None,
    solver_option: Annotated[
        list[str] | None, option("NAME=VALUE, such as batch_size=1 (repeat for more).")
    ] = None,
    partners: Annotated[str | None, option("all, or one neighbour drawn at random.")] = None,
    exchanges: Annotated[int | None, option("Times that sites talk between two steps.")] = None,
    weights: Annotated[
        str | None, option("metropolis or random_walk, where sites average.")
    ] = None,
    asynchronous: Annotated[
        bool | None, option("Sites wake at random.", "--asynchronous/--synchronous")
    ] = None,
    drop: Annotated[float | None, option("Probability that a message is lost.")] = None,
    delay: Annotated[int | None, option("Rounds by which messages come late, at most.")] = None,
    duplicate: Annotated[float | None, option("Probability that a message comes twice.")] = None,
    event: Annotated[
        list[str] | None,
        option(
            "ROUND:EVENT:SITE, where EVENT is crash, return, leave or join, and sites count "
            "from 0 (repeat for more)."
        ),
    ] = None,
    slow: Annotated[
        list[str] | None,
        option("SITE:SPEED, such as 3:0.25, which takes part in every fourth round (repeat)."),
    ] = None,
    stopping: Annotated[str | None, option("gap, norm (GADGET's rule) or never.")] = None,
    epsilon: Annotated[
        float | None, option("norm: change of the norm that counts as none.")
    ] = None,
    quiet: Annotated[int | None, option("norm: steps in a row without a change.")] = None,
    tol: Annotated[
        float | None, option("Relative duality gap that every site is to reach.")
    ] = None,
    max_iter: Annotated[
        int | None, option("Rounds allowed (for each binary problem).", "--rounds")
    ] = None,
    max_time: Annotated[
        float | None, option("Seconds allowed; the models so far are kept.")
    ] = None,
    memory_limit: Annotated[str | None, option("Memory for sites and links, e.g. 500MB.")] = None,
    n_jobs: options.Jobs = None,
    random_state: options.Seed = None,
    format: options.FileFormat = None,
    label: options.Label = None,
    zero_based: options.ZeroBased = None,
    as_json: options.AsJson = False,
    force: options.Force = False,
) -> None:
    """Simulate a network on DATA: its topology, its faults, what it costs and how good it gets.

    The rows of DATA are dealt out evenly. Every site trains on its own rows and talks to its
    neighbours, until all have the model of all rows. Settings left out have the estimator's
    defaults. Scale the features first: all weights are penalised alike.

    --model holds the mean of the sites' models and each of them; `predict`, `evaluate` and `info`
    take it. --history has a line for every checkpoint: accuracies and objectives over sites, how
    far their models are apart, gaps, messages, bytes and seconds.

    Ctrl-C keeps the models of the last checkpoint, with several classes if all were begun, and
    ends with exit code 130.
    """
    with faults_reported(spelled), warnings_shown(spelled) as warned:
        estimator = network_estimator(
            {
                **context.params,
                "C": C[0] if C and len(C) == 1 else C or None,
                "topology": topology_with(topology, topology_option or []),
                "solver": solver_with(solver, solver_option or []),
                "faults": faults_with(drop, delay, duplicate, event or [], slow or []),
                "class_weight": None,  # its labels are those of the file
            }
        )
        if model is not None:
            check_model_output(model, data, force=force)
        if history is not None:
            check_output(history, "--history", (data,))
        table = read_file(data, format=format, label=label, zero_based=zero_based)
        estimator.class_weight = parse_class_weight(class_weight or [], table.y)
        seconds, interrupted = timed(lambda: estimator.fit(table.X, table.y))
        if interrupted and not any(begun(estimator)):
            say("interrupted before every class had a model: nothing saved")
            raise typer.Exit(INTERRUPTED)
        scores = estimator.score_sites(table.X, table.y)
        set_feature_names(estimator, table.feature_names)
        set_index_base(estimator, table.zero_based)
        files = _save(estimator, model, history, interrupted=interrupted)
        summary = {
            "command": "gossip simulate",
            **files,
            "data": str(data),
            "rows": table.X.shape[0],
            **describe(estimator),
            "site_accuracy": {"min": scores.min(), "mean": scores.mean(), "max": scores.max()},
            "seconds": seconds,
            "interrupted": interrupted,
            "warnings": warned,
        }
    reached = f"{scores.min():.4f} to {scores.max():.4f} over sites, on these rows"
    ending = [("accuracy", reached), ("seconds", f"{seconds:.2f}")]
    print_summary(summary, [*described_lines(summary), *ending], as_json)
    if interrupted:
        say("interrupted: these are the models of the last checkpoint")
        raise typer.Exit(INTERRUPTED)


def _save(
    estimator: Any, model: Path | None, history: Path | None, *, interrupted: bool
) -> dict[str, Any]:
    """Write the files requested; return their names."""
    files: dict[str, Any] = {}
    if history is not None:
        columns = estimator.history_
        write_output(history, as_csv(list(columns), list(columns.values())))
        files["history"] = str(history)
    if model is not None:
        model = save_model(estimator, model, interrupted=interrupted)
        files |= {"model": str(model), "file_bytes": model.stat().st_size}
    return files


gossip.command()(demo)


@gossip.command()
def watch(
    folders: Annotated[
        list[Path], typer.Argument(help="Folders of sites on this machine.", show_default=False)
    ],
    port: Annotated[int, typer.Option("--port", help="0 takes a free one.", min=0, max=65535)] = 0,
    browser: Annotated[bool, typer.Option("--browser", help="Open the page, too.")] = False,
) -> None:
    """Serve a read-only page that draws sites, their disagreement and accuracy, until Ctrl-C.

    It listens on 127.0.0.1 alone and holds neither rows nor weights. From another machine, reach it
    through ssh: `ssh -L PORT:127.0.0.1:PORT HOST`.
    """
    check_transport()
    with faults_reported():
        from ..sites.watch import HOST, LocalServer, Watcher, page_of

        for folder in folders:
            if not (folder / "site.toml").is_file():
                raise usage_error(
                    f"{folder}: must be the folder of a site; it has no site.toml. "
                    "`widemargin site init` makes one."
                )
        with LocalServer(port, page_of(Watcher(folders))) as server:
            address = f"http://{HOST}:{server.port}/"
            typer.echo(f"{address} shows {len(folders)} sites; Ctrl-C ends it.")
            if browser:
                import webbrowser

                webbrowser.open(address)
            try:
                while True:
                    time.sleep(3600)
            except KeyboardInterrupt:
                return
