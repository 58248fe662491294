"""Random features at sites: every site maps its rows alike, and the exported model maps, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from site_folders import Folders
from sklearn.pipeline import make_pipeline
from test_participants import Network

from widemargin import LinearSVMClassifier, RandomFeatures, load_model, save
from widemargin.sites.config import ConfigError
from widemargin.sites.training.local_site import LocalSite, read_rows

SETTINGS = {"kernel": "rbf", "gamma": 0.5, "n_components": 120, "feature_seed": 3, "C": 1.0}


def rings(n_rows: int = 240) -> tuple[Any, Any]:
    """No line separates these classes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 3))
    return X, np.where(np.linalg.norm(X, axis=1) > 1.5, 1, -1)


def network(path: Path, X: Any, y: Any, n_sites: int = 3, **settings: Any) -> Network:
    return Network(Folders(path, X, y, n_sites, {**SETTINGS, **settings}))


def pooled(X: Any, y: Any, **changes: Any) -> Any:
    given = {**SETTINGS, **changes}
    features = RandomFeatures(
        given["kernel"],
        n_components=given["n_components"],
        gamma=given["gamma"],
        degree=given.get("degree", 3),
        coef0=given.get("coef0", 0.0),
        random_state=given["feature_seed"],
    )
    classifier = LinearSVMClassifier(loss="hinge", C=given["C"], tol=1e-5, max_iter=10_000)
    return make_pipeline(features, classifier).fit(X, y)


@pytest.mark.parametrize(
    "changes",
    [{}, {"kernel": "laplacian"}, {"kernel": "poly", "degree": 2, "coef0": 1.0, "row_square": 7.0}],
)
def test_sites_learn_what_the_pooled_pipeline_learns(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    X, y = rings()
    sites = network(tmp_path, X, y, **changes)
    sites.until_agreed(1500)
    expected = pooled(X, y, **changes)
    assert expected.score(X, y) > 0.9
    for member in sites.members:
        save(member.local.exported(member.site, True), tmp_path / "model.wm")
        model = load_model(tmp_path / "model.wm")
        assert model.score(X, y) == pytest.approx(expected.score(X, y), abs=0.02)
        there, here = expected[-1], model[-1]
        Z, sign = expected[0].transform(X), np.where(y > 0, 1.0, -1.0)

        def objective(fitted: Any, Z: Any = Z, sign: Any = sign) -> float:
            size = np.square(fitted.coef_).sum() + np.square(fitted.intercept_).sum()
            margin = sign * (Z @ fitted.coef_[0] + fitted.intercept_[0])
            return float(0.5 * size + np.maximum(0.0, 1.0 - margin).sum())

        assert objective(here) == pytest.approx(objective(there), rel=0.01)


def test_sparse_rows_are_mapped_alike(tmp_path: Path) -> None:
    X, y = rings(60)
    X = np.round(X)
    dense = network(tmp_path / "dense", X, y).members[0].local.X
    sparse = network(tmp_path / "sparse", sp.csr_array(X), y).members[0].local.X
    assert dense.dtype == np.float32
    np.testing.assert_allclose(dense, sparse, atol=1e-5)


def test_all_sites_have_one_map_that_rows_do_not_change(tmp_path: Path) -> None:
    X, y = rings(90)
    sites = network(tmp_path, X, y)
    maps = [member.local.features.random_weights_ for member in sites.members]
    for each in maps[1:]:
        np.testing.assert_array_equal(each, maps[0])
    other = network(tmp_path / "other", 2 * X, y, feature_seed=4).members[0]
    assert (other.local.features.random_weights_ != maps[0]).any()
    assert other.config.agreement != sites.members[0].config.agreement


def test_names_of_columns_are_kept(tmp_path: Path) -> None:
    write = tmp_path / "rows"
    X, y = rings(30)
    folders = Folders(write, X, y, 1, SETTINGS)
    text = "a,b,c,label\n" + "".join(
        f"{','.join(map(str, row))},{label}\n" for row, label in zip(X, y, strict=True)
    )
    (folders.folder(0) / "rows.csv").write_text(text)
    folders.settings = {**SETTINGS, "data": "rows.csv"}
    folders.write(0)
    config = folders.config(0)
    local = LocalSite(config, read_rows(config))
    model = local.exported(local.native(0), False)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


def test_mapped_rows_that_are_too_large_are_refused(tmp_path: Path) -> None:
    X, y = rings(300)
    folders = Folders(tmp_path, X, y, 1, {**SETTINGS, "n_components": 5000, "max_memory": "2MB"})
    config = folders.config(0)
    local = LocalSite(config, read_rows(config))
    with pytest.raises(ConfigError, match="n_components"):
        local.native(0)
