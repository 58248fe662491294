"""A site that keeps to the protocol and lies about its models.

    python -m benchmarks.sites.liar --config FOLDER/site.toml --factor -10

It trains as others do, but tells neighbours that its model is ``--factor`` times what it is. All
else is true: keys, numbers, acknowledgements and masses. What a sound site would do of it is in the
threat model. It cannot be restarted from its state.
"""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import Any

from widemargin.sites.config import read_config
from widemargin.sites.events import EventLog
from widemargin.sites.site import run_site
from widemargin.sites.training.columns import SiteColumns, columns_of
from widemargin.sites.training.participant import Participant


class Lying(SiteColumns):
    """A site whose messages name another model than its own."""

    factor = -10.0
    rhos: Any = (1.0,)  # by the level that a message names after its vector

    def write(self, link: int) -> Any:
        """Return a message with ``factor`` times the models."""
        message = super().write(link)
        for k, part in enumerate(self.parts):
            model = part.model()
            # The message is 2 rho w - z, and z stays as it is.
            body = slice(k * self.unit, k * self.unit + len(model))
            rho = self.rhos[max(0, int(message[body.stop]))]
            message[body] += 2.0 * rho * (self.factor - 1.0) * model
        return message


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sites.liar")
    parser.add_argument("--config", required=True)
    parser.add_argument("--factor", type=float, default=-10.0)
    options = parser.parse_args()
    honest = Participant.round

    def lying_round(participant: Participant) -> dict[str, bytes]:
        site = participant.site
        if not isinstance(site, Lying):
            liar = Lying(columns_of(site))
            setting = participant.local._setting(1)
            method: Any = participant.local.method
            problem = setting.problem
            liar.rhos = method.rhos(problem.constants, setting.total_square, setting.n_links)
            liar.factor = options.factor
            participant.site = participant.links.site = liar
        return honest(participant)

    Participant.round = lying_round  # type: ignore[method-assign]
    config = read_config(options.config)
    with closing(EventLog(config.name, config.folder / "site.log", as_json=True)) as log:
        run_site(config, listener=log)


if __name__ == "__main__":
    main()
