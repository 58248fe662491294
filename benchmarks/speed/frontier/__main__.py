"""Measure what is missing, or write the tables and the picture."""

from __future__ import annotations

from benchmarks.race.command import fail, options_of, parser_of, write_page
from benchmarks.race.store import Store

from . import __doc__ as description
from .choice import measure
from .contestants import CONTESTANTS
from .page import marked, page
from .picture import draw
from .sets import SETS

LIMIT = 300.0


def main(arguments: list[str] | None = None) -> None:
    parser, group = parser_of("frontier", str(description), SETS, "the last")
    group.add_argument("--set", dest="only", nargs="+", choices=list(SETS), metavar="SET")
    group.add_argument(
        "--contestant",
        nargs="+",
        choices=list(CONTESTANTS),
        default=list(CONTESTANTS),
        metavar="NAME",
        help="who is measured; what is not installed is skipped",
    )
    group.add_argument(
        "--limit", type=float, default=LIMIT, help="seconds a fit and its predictions may take"
    )
    options = options_of(parser, "frontier", arguments)
    if options.command == "render":
        store = Store(options.results)
        cells = marked(store)
        write_page(store, options.to, "frontier", lambda _: page(cells))
        draw(cells, options.to)
        return
    # --again measures again what is asked for, and keeps the rest.
    store = Store(options.results, options.again)
    failures: list[str] = []
    for name in options.only:
        measure(store, name, options.contestant, options.limit, options.quick, failures)
    fail(failures)


if __name__ == "__main__":
    main()
