"""Measure what is missing, or write the tables."""

from __future__ import annotations

from benchmarks.race.command import fail, options_of, parser_of, write_page
from benchmarks.race.store import Store

from . import __doc__ as description
from .contest import check_libraries, measure, tables
from .sets import all_sets


def main(arguments: list[str] | None = None) -> None:
    sets = all_sets()
    parser, group = parser_of("defaults", str(description), sets, "the last")
    group.add_argument("--without", nargs="+", default=[], help="leave a contestant out")
    options = options_of(parser, "defaults", arguments)
    store = Store(options.results, options.again)
    if options.command == "render":
        write_page(store, options.to, "defaults", tables)
        return
    check_libraries(options.without)
    failures: list[str] = []
    for name in options.only:
        measure(store, sets[name], options.without, options.quick, failures)
    fail(failures)


if __name__ == "__main__":
    main()
