"""[GADGET] Tables 5 to 7: other classifiers at every site, and ADMM with the printed parameters.

Secom stands for the production line, too: a model that never finds a failure has a balanced
accuracy of 50 %.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from statistics import mean
from typing import Any

from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import NONE, Cells, Rows, Table, percent

from . import published
from .admm import OURS, Parameters, admm
from .classifiers import MODELS, classifiers
from .comparison import our_method, with_rule
from .figures import accuracy, name_of, printed
from .ours import printed as gadget_printed
from .problem import DividedProblem, Outcome
from .runs import RUNS, joined, run_cell
from .sets import problem_of, rare_cell

DATA_SETS = ("a9a", "covtype_binary", "ijcnn1", "sylva", "reuters_moneyfx", "secom")
TITLES = {
    "lasso": "Lasso",
    "ridge": "Ridge",
    "elastic_net": "Elastic net",
    "forest": "Ten trees",
    "boosting": "Boosted stumps",
    "perceptron": "Perceptron",
    "perceptron_adam": "Perceptron, Adam",
    "printed": "GADGET as printed",
    "consensus": "consensus",
}
COLUMNS = {"5": ("lasso", "ridge", "elastic_net"), "6": ("forest", "boosting", "perceptron")}
MORE = {"5": (), "6": ("perceptron_adam",)}
GADGET = ("printed", "consensus")
RARE = ("sylva", "secom")
ADMM_SETS = ("a9a", "covtype_binary")
# One run of these takes as long as all others together.
ONCE = ("covtype_binary",)


def measure_classifiers(store: Store, name: str, quick: bool, max_time: float) -> None:
    """Measure every classifier, and GADGET and consensus beside them; all end by themselves."""
    del max_time
    fits: dict[str, Callable[..., Outcome]] = {
        model: partial(classifiers, model=model) for model in MODELS
    }
    fits["printed"] = partial(with_rule, gadget_printed)
    fits["consensus"] = partial(our_method, "consensus")
    for number in range(1 if quick or name in ONCE else RUNS):
        problem = partial(problem_of, name, number=number, quick=quick)
        for method, fit in fits.items():
            measure = partial(_rare, fit, problem, seed=number)
            store.cell(run_cell("table_5", name, number, method), {"quick": quick}, measure)


def measure_admm(store: Store, name: str, quick: bool, max_time: float) -> None:
    """Measure ADMM with the parameters of every set of the paper, and with ours."""
    del max_time
    for number in range(1 if quick or name in ONCE else RUNS):
        problem = partial(problem_of, name, number=number, quick=quick)
        for title, parameters in _parameters().items():
            measure = partial(_rare, partial(admm, parameters=parameters), problem)
            settings = {"quick": quick, "parameters": list(parameters)}
            store.cell(run_cell("table_7", name, number, title), settings, measure)


def _parameters() -> dict[str, Parameters]:
    theirs = {title: Parameters(*given) for title, given in published.TABLE_7.items()}
    return theirs | {"ours": OURS}


def _rare(
    fit: Callable[..., Outcome], problem: Callable[[], DividedProblem], **settings: Any
) -> Cell:
    return rare_cell(fit(problem(), **settings), problem())


# -------------------------------------------------------------------------------------- page


def tables(cells: Cells) -> Iterator[Table]:
    """Yield every table as file name, columns and rows."""
    for number, methods in COLUMNS.items():
        columns = [f"{TITLES[each]} (published)" for each in methods]
        columns += [TITLES[each] for each in (*methods, *MORE[number], *GADGET)]
        yield f"gossip_table_{number}", ["Data set", *columns], _accuracies(cells, number)
    columns = ["Data set", *TITLES.values()]
    yield "gossip_table_5_rare", columns, _balanced(cells)
    columns = ["Parameters of", "Λ", "ρ", "α"]
    for name in ADMM_SETS:
        columns += [f"{name_of(name)}: {each}" for each in ("accuracy", "iterations")]
    yield "gossip_table_7", columns, _admm(cells)


def _accuracies(cells: Cells, number: str) -> Rows:
    theirs = published.TABLES_5_AND_6
    for name in DATA_SETS:
        row = [
            name_of(name),
            *(printed(theirs.get(name, {}).get(each)) for each in COLUMNS[number]),
        ]
        for method in (*COLUMNS[number], *MORE[number], *GADGET):
            row.append(accuracy(joined(cells, "table_5", name, method)))
        yield row


def _balanced(cells: Cells) -> Rows:
    for name in RARE:
        found = (joined(cells, "table_5", name, method) for method in TITLES)
        values = (None if cell is None else mean(cell["balanced_accuracy"]) for cell in found)
        yield [name_of(name), *(percent(each) for each in values)]


def _admm(cells: Cells) -> Rows:
    for title, (weight, rho, alpha) in _parameters().items():
        size = "1 / (λ rows)" if weight is None else f"{weight:g}"
        row = [title, size, f"{rho:g}" + (" Λ" if weight is None else ""), f"{alpha:g}"]
        for name in ADMM_SETS:
            cell = joined(cells, "table_7", name, title)
            row.append(accuracy(cell))
            row.append(NONE if cell is None else f"{mean(cell['iterations']):.0f}")
        yield row
