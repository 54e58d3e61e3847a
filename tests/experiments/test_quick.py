"""``python -m experiments all --quick``, once, with its numbers held to what is known.

Seeds are fixed. Tolerances for simulated numbers are multiples of their standard errors, stated
where they are used; other seeds would raise a false alarm about once in a thousand runs.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from experiments.command import run
from experiments.parts import Row
from experiments.run import HOMES, Result, read_result
from tests.experiments.recorded import check_rows
from tests.oracle.enumeration import loss_of_every_adversary

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.slow

Results = dict[str, Result]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("quick") / "reproduction"
    assert run(["all", "--quick", "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def results(folder: Path) -> Results:
    found = {name: read_result(name, folder) for name in HOMES}
    return {name: result for name, result in found.items() if result is not None}


def _only(result: Result, **wanted: object) -> Row:
    (row,) = (r for r in result.rows if all(r.get(k) == v for k, v in wanted.items()))
    return row


def test_every_experiment_leaves_its_files(folder: Path, results: Results) -> None:
    assert list(results) == list(HOMES)
    for name, result in results.items():
        for ending in ("svg", "png"):
            assert (folder / name / f"{name}.{ending}").stat().st_size > 5_000
        assert result.record["size"] == "quick"
        assert {"python", "chainveil", "numpy"} <= set(result.record["versions"])
        assert result.record["seconds"] >= 0
        assert result.rows


def test_every_row_is_as_recorded(results: Results) -> None:
    for name, result in results.items():
        check_rows(name, result.rows)


def test_figure_1(results: Results) -> None:
    result = results["fig1"]
    row = _only(result, epsilon=0.5, adversary="any", objective="wrong-reports")
    assert (row["rho0"], row["rho1"]) == (pytest.approx(0.41525, abs=1e-4), 0.5)
    row = _only(result, epsilon=2.0, adversary="ignorant", objective="wrong-reports")
    assert (row["rho0"], row["rho1"]) == pytest.approx((0.3429, 0.2554), abs=1e-4)
    assert row["loss_any"] == pytest.approx(2.1249, abs=1e-4)
    row = _only(result, epsilon=2.0, adversary="any", objective="wrong-reports")
    assert (row["rho0"], row["rho1"]) == pytest.approx((0.3329, 0.2773), abs=1e-4)
    for row in result.rows:
        assert (row["adversary"] == "ignorant") or row["loss_any"] <= row["epsilon"]


def test_figure_2(results: Results) -> None:
    result = results["fig2"]
    # 16 simulated means, each within 4 of its standard errors of the exact value: by chance alone
    # one of them fails in about one run of a thousand.
    for row in result.rows:
        assert abs(row["success"] - row["exact"]) < 4 * row["error"]
        assert row["error"] < 0.006
    exact = _only(result, theta=0.02, noise="dp", attacker="correlation aware")["exact"]
    assert exact == pytest.approx(0.8312, abs=1e-4)
    bound = 1 / (1 + math.exp(-0.5))
    for row in result.rows:
        if row["noise"] == "bdp":
            assert row["loss_any"] <= 0.5
            assert row["exact"] <= bound


def test_figure_3(results: Results) -> None:
    result = results["fig3"]
    methods = list(dict.fromkeys(row["method"] for row in result.rows))
    zhao, lange, formula, every, this, correlated, theorem1, dp = methods
    noise: dict[tuple[str, float], Any] = {
        (row["method"], row["epsilon"]): row.get("flips") for row in result.rows
    }
    for epsilon in (0.5, 2.0, 4.0, 6.0):
        order = [noise[method, epsilon] for method in (zhao, formula, every, theorem1, dp)]
        assert order == sorted(order, reverse=True)
        assert noise[this, epsilon] <= noise[every, epsilon] * (1 + 1e-9)
    assert noise[every, 4.0] == pytest.approx(0.06355, abs=1e-5)
    assert noise[correlated, 4.0] == pytest.approx(0.05495, abs=1e-5)
    assert noise[theorem1, 4.0] == pytest.approx(0.05495, abs=1e-5)
    assert noise[lange, 2.0] is None
    assert noise[lange, 2.5] is not None


def test_figure_4_on_the_synthetic_chain(results: Results) -> None:
    result = results["fig4"]
    rows = [row for row in result.rows if row["series"] == "synthetic"]
    for row in rows:
        assert row["highest"] < row["bound"]
        assert row["loss_any"] <= row["epsilon"] or row["noise"] == "ignorant"
    viterbi = _only(result, series="synthetic", noise="ignorant", epsilon=4.0, attacker="viterbi")
    assert viterbi["loss_any"] == pytest.approx(4.681, abs=1e-3)
    # The full run has 0.749 and 0.776. A mean of two releases of 6,000 points, about 1,000 of
    # them worth an independent guess each, is within 0.04 (four standard errors).
    assert viterbi["accuracy"] == pytest.approx(0.749, abs=0.04)
    posterior = _only(
        result, series="synthetic", noise="ignorant", epsilon=4.0, attacker="posterior"
    )
    assert posterior["accuracy"] == pytest.approx(0.776, abs=0.04)


def test_figure_4_learns(results: Results) -> None:
    pytest.importorskip("torch")
    result = results["fig4"]
    for noise in ("ignorant", "any"):
        key = {"series": "synthetic", "noise": noise, "epsilon": 4.0}
        learned = _only(result, **key, attacker="lstm-small")
        best = _only(result, **key, attacker="posterior")
        # Nobody beats the posterior attacker on average; a network that learned comes close.
        # 0.05 is four standard errors of a difference between two samples of this size.
        assert learned["accuracy"] == pytest.approx(best["accuracy"], abs=0.05)
        assert learned["low"] < learned["accuracy"] < learned["high"]
        taught = _only(result, **key, attacker="lstm-taught")
        teacher = _only(result, **key, attacker="viterbi")
        assert taught["accuracy"] == pytest.approx(teacher["accuracy"], abs=0.05)
    assert result.record["training"]["small"]["models"] == 8
    assert result.record["training"]["taught"]["models"] == 8


def test_figure_4_on_heart_rate(results: Results) -> None:
    result = results["fig4"]
    if result.record["missing"]:
        pytest.skip(result.record["missing"][0])
    reported = {2.0: 0.7123, 4.0: 0.8441}
    for epsilon, theirs in reported.items():
        row = _only(result, series="N10", noise="ignorant", epsilon=epsilon, attacker="viterbi")
        # Releases scatter by 0.023 and 0.003; theirs is one, ours the mean of two.
        assert row["accuracy"] == pytest.approx(theirs, abs=0.1 if epsilon == 2 else 0.02)
    row = _only(result, series="N5", noise="any", epsilon=4.0, attacker="posterior")
    assert row["accuracy"] == pytest.approx(0.907, abs=0.012)
    assert all(row["highest"] < row["bound"] for row in result.rows)


def test_correlated_noise(results: Results) -> None:
    result = results["correlated"]
    for theta, epsilon, independent, correlated in (
        (0.2, 4.0, 0.1973, 0.16415), (0.2, 2.0, 0.3622, 0.35906), (0.35, 4.0, 0.06355, 0.05495),
    ):  # fmt: skip
        row = _only(result, theta=theta, epsilon=epsilon, adversary="any")
        assert row["independent_flips"] == pytest.approx(independent, abs=6e-5)
        assert row["correlated_flips"] == pytest.approx(correlated, abs=6e-6)
        assert row["certified_loss"] <= epsilon
    for row in result.rows:
        if row["adversary"] == "ignorant":
            assert row["correlated_flips"] == pytest.approx(row["independent_flips"], rel=1e-8)


def test_theorem_2_against_the_oracle(results: Results) -> None:
    import numpy as np

    result = results["theorem2"]
    start, transition = np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.1, 0.9]])
    channel = np.array([[0.98, 0.02], [0.02, 0.98]])
    for length in (3, 4, 5):
        losses = loss_of_every_adversary(start, transition, channel, length)
        own = [row for row in result.rows if row["length"] == length]
        assert len(own) == len(losses)
        for row in own:
            known = [] if row["known"] == "-" else str(row["known"]).split()
            expected = losses[row["target"], frozenset(map(int, known))]
            assert row["loss"] == pytest.approx(expected, rel=1e-9)
    assert _only(result, counter_example=True)["loss"] == pytest.approx(9.41, abs=5e-3)


def test_a_second_run_keeps_what_is_done(folder: Path) -> None:
    part = folder / "fig1" / "parts" / "quick" / "regions.json"
    kept = json.loads(part.read_text())
    before = part.stat().st_mtime_ns
    assert run(["fig1", "--quick", "--out", str(folder)]) == 0
    assert part.stat().st_mtime_ns == before
    for other in (json.dumps(kept | {"fingerprint": "of other settings"}), "{ damaged", "[1]"):
        part.write_text(other)
        assert run(["fig1", "--quick", "--out", str(folder)]) == 0
        assert json.loads(part.read_text())["rows"] == kept["rows"]


def test_the_page_shows_everything(folder: Path) -> None:
    page = (folder.parent / "reproduction.md").read_text(encoding="utf-8")
    for heading in (
        "Figure 1",
        "Figure 2",
        "Figure 3",
        "Figure 4",
        "correlated noise",
        "Theorem 2",
    ):
        assert any(heading in line for line in page.splitlines() if line.startswith("## "))
    assert "**Size of the runs: quick.**" in page
    for name in HOMES:
        assert f"reproduction/{name}/{name}.svg" in page
    assert "0.8552" in page  # the authors' number
