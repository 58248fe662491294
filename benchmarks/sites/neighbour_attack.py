"""What a listed neighbour learns of a site's rows: the attack, as code that drives a real site.

A site that trains by consensus answers its neighbour's vector z with q = 2ρw − z, where
w = (z + own) / κ and ``own`` = Σ gᵢ yᵢ xᵢ over its rows. The neighbour sets z and knows ρ, so that
it can compute ``own`` from every answer. With the hinge, a row whose margin is far from 1 has a
dual gᵢ of 0 or C: where z is so large that it decides all margins, turning it makes rows flip from
one to the other, and a single row that flips between two answers appears as C y x.

*Active*: z = A (u + b e), with e the intercept's unit vector and u random. As b grows, every row of
the site flips once; the intercept's entry of ``own`` counts the flips, and bisection on b separates
them. *Passive*: the neighbour keeps to the protocol, and looks at differences of ``own``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from widemargin.sites.config import Neighbour, SiteConfig, read_config, write_template
from widemargin.sites.network.keys import make_keys
from widemargin.sites.network.wire import Frame, Kind, MessageLimits, decode, encode
from widemargin.sites.training.local_site import LocalSite, read_rows
from widemargin.sites.training.participant import Participant

# How far entries of a row that was found may be from 0 and 1.
CLOSE = 0.02
# Exchanges in which a site's z comes within a millionth of what it is sent.
FOLLOWING = 12
# Of the projections of rows on a random direction: so many times the length of a row.
REACH = 4.0


def binary_rows(n_rows: int, seed: int = 0) -> tuple[Any, Any]:
    """Return rows like those of a9a: one of several categories for each of fourteen columns."""
    rng = np.random.default_rng(seed)
    sizes = (5, 8, 5, 16, 5, 7, 14, 6, 5, 2, 2, 2, 5, 41)
    columns = []
    for size in sizes:
        shares = rng.dirichlet(np.full(size, 0.7))
        columns.append(np.eye(size)[rng.choice(size, n_rows, p=shares)])
    X = np.hstack(columns)
    scores = X @ rng.standard_normal(X.shape[1]) + 0.5 * rng.standard_normal(n_rows)
    return X, np.where(scores > np.quantile(scores, 0.76), 1, -1)


def site_of(folder: Path, X: Any, y: Any, total_rows: int, **settings: Any) -> Target:
    """Make a site with these rows whose only neighbour is the attacker."""
    folder.mkdir(parents=True)
    (folder / "attacker").mkdir()
    make_keys(folder)
    attacker = make_keys(folder / "attacker")
    np.savez(folder / "rows.npz", X=X, y=y)
    given: dict[str, Any] = {
        "listen": "tcp://127.0.0.1:7001",
        "data": "rows.npz",
        "n_sites": 2,
        "total_rows": total_rows,
        "n_features": X.shape[1],
        "row_square": 15.0,
        "sync": False,
        "min_rows": 0,
        "penalty": 4.0,  # which the site does not change under way
        **settings,
    }
    neighbour = Neighbour("attacker", "tcp://127.0.0.1:7002", attacker)
    write_template(folder, "victim", neighbours=[neighbour], **given)
    return Target(read_config(folder), attacker)


@dataclass
class Target:
    """A site under attack, driven in this process: every frame passes its checks and limits."""

    config: SiteConfig
    key: str  # of the attacker
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        local = LocalSite(self.config, read_rows(self.config))
        self.site = Participant(local, "V" * 40, self._note)

    def _note(self, event: str, **fields: Any) -> None:
        self.events.append((event, fields))

    def answer(self, data: bytes | None) -> Frame:
        """Hand a frame to the site, let it take a round, and return what it sends."""
        if data is not None:
            self.site.receive(self.key, data)
        return decode(
            self.site.round()[self.key],
            agreement=self.site.local.agreed.digest,
            dimension=self.site.local.problem.size,
            count=self.site.message_sizes,
        )


class Attacker:
    """A neighbour that knows the shared settings, and of the site what it is sent."""

    def __init__(self, target: Target) -> None:
        self.target, config = target, target.config
        method: Any = config.classifier()._method()
        setting = target.site.local._setting(1)  # nothing of it but what all sites share
        self.rho = 1.0
        if config.solver == "consensus":
            # The attacker claims the first level, and no other end raises it.
            self.rho = method.rhos(
                setting.problem.constants, setting.total_square, setting.n_links
            )[0]
        self.relaxation, self.C = config.relaxation, config.C
        self.size = config.n_features + 1
        self.number, self.exchanges, self.refused = 0, 0, 0
        self.z = np.zeros(self.size)  # the site's, as far as it reads what it is sent
        self.kappa = self.rho + 1.0 / config.n_sites
        self.norm = MessageLimits.of(setting, method, config.n_sites, config.max_norm).norm
        self._last = target.answer(None)  # its greeting
        self._last = self._exchange(None)

    def set_z(self, z: Any) -> Any:
        """Make the site's z what is wanted, and return its q; None if the site refused it."""
        wish = (z - (1.0 - self.relaxation) * self.z) / self.relaxation
        answer = self._exchange(wish)
        if answer.acknowledged < self.number:
            self.refused += 1
            return None
        self.z = np.array(z)
        return self._body(answer)

    def draw_z(self, z: Any) -> Any:
        """Set z as `set_z` does, but by sending it until the site has followed."""
        q = None
        for _ in range(FOLLOWING):
            answer = self._exchange(z)
            if answer.acknowledged < self.number:
                self.refused += 1
                return None
            self.z += self.relaxation * (z - self.z)
            q = self._body(answer)
        return q

    def own_of(self, q: Any) -> Any:
        """Return Σ gᵢ yᵢ xᵢ over the site's rows, given its answer."""
        return self.kappa * (q + self.z) / (2.0 * self.rho) - self.z

    def _exchange(self, body: Any) -> Frame:
        """Send a vector (None: a greeting) in a valid frame and return the answer."""
        self.exchanges += 1
        if body is None:
            numbers, number, acknowledged = np.empty(0), 0, 0
        else:
            number, acknowledged = self.number + 1, self._last.number
            count = self.target.site.site.message_size
            numbers = np.zeros(count)
            numbers[: len(body)] = body
            numbers[-2:] = number, acknowledged
            self.number = number
        frame = Frame(
            Kind.GREETING if body is None else Kind.EXCHANGE,
            self.target.site.local.agreed.digest,
            1000,
            self._last.sender_epoch,
            number,
            acknowledged,
            1,
            self.size,
            numbers,
        )
        self._last = self.target.answer(encode(frame))
        return self._last

    def _body(self, frame: Frame) -> Any:
        return frame.numbers[: self.size].copy()


def row_in(difference: Any, scale: float) -> tuple[int, ...] | None:
    """Return the binary row that a difference of `own` is a multiple of, if it is one."""
    last = float(difference[-1])
    if not abs(last) > 1e-3 * scale:
        return None
    entries = difference[:-1] / last
    row = np.rint(entries)
    if np.abs(entries - row).max() > CLOSE or not np.isin(row, (0.0, 1.0)).all() or not row.any():
        return None
    return tuple(int(x) for x in row)


@dataclass
class Findings:
    """Rows that an attack claims, against those that the site has."""

    claimed: set[tuple[int, ...]]
    rows: list[tuple[int, ...]]
    exchanges: int
    refused: int

    @property
    def found(self) -> int:
        """Number of the site's rows that were found."""
        return sum(row in self.claimed for row in self.rows)

    @property
    def wrong(self) -> int:
        """Number of claimed rows that the site does not have."""
        return len(self.claimed - set(self.rows))


def _findings(attacker: Attacker, claimed: set[tuple[int, ...]]) -> Findings:
    X = attacker.target.site.local.rows.X
    rows = [tuple(int(v) for v in row) for row in np.asarray(X)]
    return Findings(claimed, rows, attacker.exchanges, attacker.refused)


def active_attack(
    target: Target,
    *,
    exchanges: int,
    strength: float | None = None,
    seed: int = 0,
    kind: type[Attacker] = Attacker,
) -> Findings:
    """Sweep z for so many exchanges, and collect rows.

    Without a ``strength``, z is as long as the limit on its norm allows. With one, decisions are
    drawn about that far, on ways that are as short as can be: for sites that limit the way.
    """
    attacker, rng = kind(target), np.random.default_rng(seed)
    claimed: set[tuple[int, ...]] = set()
    length = 0.3 * attacker.norm  # all know this bound
    if strength is not None:
        while attacker.exchanges < exchanges:
            if not _sweep(attacker, rng, strength * attacker.rho, exchanges, claimed, thrifty=True):
                break
        return _findings(attacker, claimed)
    while attacker.exchanges < exchanges:
        if not _sweep(attacker, rng, length, exchanges, claimed, thrifty=False):
            length *= 0.9
    return _findings(attacker, claimed)


def _sweep(
    attacker: Attacker,
    rng: Any,
    length: float,
    exchanges: int,
    claimed: set[tuple[int, ...]],
    *,
    thrifty: bool,
) -> bool:
    """Bisect one random direction; every interval in which one row flips gives that row.

    Returns whether the site read all of it.
    """
    direction = rng.standard_normal(attacker.size)
    direction[-1] = 0.0
    reach = REACH * np.sqrt(15.0)
    scale = length / (reach if thrifty else np.linalg.norm(direction) + reach)

    def own(b: float) -> Any:
        z = scale * direction
        z[-1] = scale * b
        if thrifty:
            q = attacker.draw_z(z)
        else:
            q = attacker.set_z(z)
            q = attacker.set_z(z) if q is not None else None  # once more: the duals settle
        return None if q is None else attacker.own_of(q)

    low = own(-reach)
    high = None if low is None else own(reach)
    if high is None:
        return False
    # From right to left, so that the way is short.
    waiting = [(-reach, low, reach, high)]
    while waiting and attacker.exchanges < exchanges:
        left, at_left, right, at_right = waiting.pop()
        difference = at_left - at_right
        flips = difference[-1] / attacker.C
        if flips < 0.5 or right - left < 1e-7:
            continue
        row = row_in(difference, attacker.C)
        if row is not None:
            claimed.add(row)
            continue
        middle = 0.5 * (left + right)
        found = own(middle)
        if found is None:
            return False
        waiting += [(left, at_left, middle, found), (middle, found, right, at_right)]
    return True


def passive_attack(target: Target, *, exchanges: int) -> Findings:
    """Keep to the protocol as a site without rows would, and look at what the answers give away."""
    attacker = Attacker(target)
    claimed: set[tuple[int, ...]] = set()
    w, mine = np.zeros(attacker.size), np.zeros(attacker.size)
    seen: list[Any] = []
    while attacker.exchanges < exchanges:
        q = 2.0 * attacker.rho * w - mine
        answer = attacker._exchange(q)
        if answer.acknowledged == attacker.number:
            attacker.z += attacker.relaxation * (q - attacker.z)
        theirs = attacker._body(answer)
        seen.append(attacker.own_of(theirs))
        mine += attacker.relaxation * (theirs - mine)
        w = mine / (attacker.rho + 0.5)
        for earlier in np.zeros(attacker.size), *seen[-3:-1]:
            row = row_in(seen[-1] - earlier, attacker.C)
            if row is not None:
                claimed.add(row)
    return _findings(attacker, claimed)


def attack_on_private(target: Target, *, exchanges: int, seed: int = 0) -> Findings:
    """Attack a site with differential privacy as well as a neighbour can.

    The attacker sets the site's model by what it gives into the averages, and computes every noisy
    gradient back from what the site gives. It asks at two models in turn, one at which every row's
    slope is C and one at which rows on one side of a random plane have none, and takes the mean of
    the differences: the noise of one release shrinks, as it would for any attacker.
    """
    attacker, rng = Attacker(target), np.random.default_rng(seed)
    method: Any = target.config.classifier()._method()
    problem = target.site.local.problem
    options = method._options(problem, target.config.total_rows, 1, 1, bytes(32))
    share, n_sites = 0.5, target.config.n_sites
    direction = rng.standard_normal(attacker.size)
    points = (np.zeros(attacker.size), 100.0 * direction / np.linalg.norm(direction))
    given = np.zeros(attacker.size + 1)  # running sums: value, and mass last
    # The site may have made a release, at w = 0, before it was first asked.
    received = attacker._last.numbers[: attacker.size + 1].copy()
    held = received * (1.0 - share) / share
    previous, answers = np.zeros(attacker.size), ([], [])  # type: ignore[var-annotated]
    while attacker.exchanges < exchanges:
        w = points[len(answers[0]) > len(answers[1])]
        given += np.append(w, 1.0) - held
        frame = attacker._exchange(given)
        if frame.acknowledged < attacker.number:
            break
        body = frame.numbers[: attacker.size + 1]
        after = (body - received) / share
        received, held = body.copy(), after * (1.0 - share)
        change = after[:-1] - w
        if np.abs(change).max() < 1e-12:
            continue  # no release in this step
        moved = options["momentum"] * (w - previous)
        release = (change - moved + options["step"] * w) / (options["step"] * n_sites)
        answers[len(answers[0]) > len(answers[1])].append(release)
        previous = w
    claimed: set[tuple[int, ...]] = set()
    if answers[1]:
        difference = np.mean(answers[0], axis=0) - np.mean(answers[1], axis=0)
        for candidate in (difference, np.mean(answers[0], axis=0), answers[0][0]):
            row = np.rint(candidate[:-1] / attacker.C * np.sign(candidate[-1]))
            claimed.add(tuple(int(x) for x in np.clip(row, 0, 1)))
    return _findings(attacker, claimed)
