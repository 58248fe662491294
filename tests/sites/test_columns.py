"""Several classes at sites: one exchange carries all problems, and each reaches its optimum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from site_folders import Folders
from test_participants import Network

from widemargin import LinearODMClassifier, LinearSVMClassifier, load_model, save
from widemargin.sites.network.wire import FrameError, decode
from widemargin.sites.training.columns import SiteColumns, packed, unpacked


def three_classes(n_rows: int = 240, seed: int = 0, labels: Any = (0, 1, 2)) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, n_rows)
    centres = 1.5 * rng.standard_normal((3, 5))
    return centres[codes] + rng.standard_normal((n_rows, 5)), np.array(labels)[codes]


def by_class(X: Any, y: Any) -> tuple[Any, Any]:
    """Order rows so that `Folders`, which deals out in turn, gives each site one class only."""
    order = np.argsort(y, kind="stable")
    parts = np.array_split(order, 3)
    assert all(len(part) == len(parts[0]) for part in parts)
    order = np.stack(parts, axis=1).ravel()
    return X[order], y[order]


def network(path: Path, X: Any, y: Any, n_sites: int = 3, **options: Any) -> Network:
    faults = options.pop("faults", {})
    classes = np.unique(y).tolist()
    return Network(Folders(path, X, y, n_sites, {"classes": classes, **options}), **faults)


def excess(sites: Network, kind: Any = LinearSVMClassifier, **given: Any) -> float:
    """Return the largest relative excess of a class's objective over the pooled optimum."""
    X, y = sites.folders.X, sites.folders.y
    X = X.toarray() if sp.issparse(X) else X
    C = sites.folders.settings.get("C", 0.1)
    loss = {"loss": "hinge"} if kind is LinearSVMClassifier else {}
    pooled = kind(C=C, tol=1e-6, max_iter=10_000, **loss, **given).fit(X, y)
    worst = -np.inf
    for member in sites.members:
        model = member.local.exported(member.site, True)
        np.testing.assert_array_equal(model.classes_, pooled.classes_)
        for k, label in enumerate(pooled.classes_):
            sign = np.where(y == label, 1.0, -1.0)

            def objective(fitted: Any, k: int = k, sign: Any = sign) -> float:
                margin = sign * (X @ fitted.coef_[k] + fitted.intercept_[k])
                size = fitted.coef_[k] @ fitted.coef_[k] + fitted.intercept_[k] ** 2
                if kind is LinearSVMClassifier:
                    return float(0.5 * size + C * np.maximum(0, 1 - margin).sum())
                theta, upsilon = 0.2, 0.5
                low = np.maximum(0, 1 - theta - margin) ** 2
                high = np.maximum(0, margin - 1 - theta) ** 2
                return float(0.5 * size + 0.5 * C * (low + upsilon * high).sum())

            here = objective(model) / objective(pooled) - 1.0
            assert here > -1e-4  # else this is not what was minimised
            worst = max(worst, here)
    return float(worst)


def test_every_class_reaches_the_pooled_optimum(tmp_path: Path) -> None:
    sites = network(tmp_path, *three_classes())
    sites.until_agreed()
    assert excess(sites) < 0.01
    sites.check_mass()
    sites.check_nothing_is_missing()


def test_sites_with_one_class_each_find_the_same_models(tmp_path: Path) -> None:
    X, y = by_class(*three_classes(243))
    X, y = X[: len(y) // 3 * 3], y[: len(y) // 3 * 3]
    sites = network(tmp_path, X, y, faults={"loss": 0.3})
    assert {len(np.unique(m.local.rows.codes)) for m in sites.members} <= {1, 2}
    sites.until_agreed(1500)
    assert excess(sites) < 0.01


def test_odm_and_texts_as_labels(tmp_path: Path) -> None:
    X, y = three_classes(labels=("a", "b", "c"))
    sites = network(tmp_path, X, y, loss="odm")
    sites.until_agreed()
    assert excess(sites, LinearODMClassifier) < 0.01


def test_dense_rows_and_csr_give_the_same_messages(tmp_path: Path) -> None:
    X, y = three_classes()
    X = np.round(X)
    dense = network(tmp_path / "dense", X, y)
    sparse = network(tmp_path / "sparse", sp.csr_array(X), y)
    dense.all_round(30)
    sparse.all_round(30)
    for one, other in zip(dense.members, sparse.members, strict=True):
        np.testing.assert_allclose(one.site.model(), other.site.model(), rtol=1e-9, atol=1e-12)


def test_a_killed_site_goes_on_bit_for_bit(tmp_path: Path) -> None:
    sites = network(tmp_path, *three_classes())
    sites.all_round(20)
    before = sites.members[1]
    before.save()
    sites.kill(1)
    after = sites.members[1]
    assert (1, "state_restored") in sites.events
    for _ in range(3):
        assert before.round() == after.round()
    assert before.site.save() == after.site.save()


def test_a_message_costs_little_beyond_its_vectors(tmp_path: Path) -> None:
    X, y = three_classes()
    several = network(tmp_path / "3", X, y).members[0].site
    one = network(tmp_path / "2", X, np.where(y > 0, 1, -1)).members[0].site
    # The vector and five figures of each class, three numbers for all.
    assert several.message_size == 3 * (one.message_size - 3) + 3


def test_limits_hold_for_every_class(tmp_path: Path) -> None:
    sites = network(tmp_path, *three_classes())
    sites.all_round(5)
    member, sender = sites.members[0], sites.members[1]
    data = sender.round()[member.public_key]
    size = member.local.problem.size
    for at in (0, member.site.unit, 2 * member.site.unit):
        frame = decode(
            data,
            agreement=member.config.agreement,
            dimension=size,
            count=member.message_sizes,
        )
        frame.numbers[at] = 1e12
        with pytest.raises(FrameError, match="longer than"):
            member.links.receive(sender.public_key, frame)
    assert member.receive(sender.public_key, data)[1]


def test_the_exported_model_predicts_all_classes(tmp_path: Path) -> None:
    X, y = three_classes(labels=("hay", "oak", "rye"))
    sites = network(tmp_path, X, y)
    sites.until_agreed()
    model = sites.members[0].local.exported(sites.members[0].site, True)
    save(model, tmp_path / "model.wm")
    loaded = load_model(tmp_path / "model.wm")
    assert loaded.coef_.shape == (3, 5)
    assert loaded.converged_
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.score(X, y) == pytest.approx(
        LinearSVMClassifier(loss="hinge", C=0.1).fit(X, y).score(X, y), abs=0.02
    )


def test_damaged_states_are_set_aside(tmp_path: Path) -> None:
    sites = network(tmp_path, *three_classes())
    assert isinstance(sites.members[0].site, SiteColumns)
    state = sites.members[0].site.save()
    for damaged in (state[:-1], state + b"\0", packed(unpacked(state)[:2]), b""):
        with pytest.raises(ValueError, match=r"[sS]tate"):
            sites.members[0].site.restore(damaged)
