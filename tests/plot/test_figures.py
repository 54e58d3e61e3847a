"""Figures draw what they are handed, whole files or none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import chainveil as cv
from chainveil import plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHAIN = cv.MarkovChain.binary(0.2, 0.35)


def test_noise_region(tmp_path: Path) -> None:
    plan = cv.calibrate(CHAIN, 2.0)
    figure = plot.noise_region(
        plan,
        [cv.calibrate(CHAIN, 2.0, objective="share")],
        cv.calibrate(CHAIN, 2.0, adversary="ignorant"),
    )
    axes = figure.axes[0]
    assert plan.half_planes is not None
    line = axes.lines[0]
    rho0, rho1 = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    assert rho1 == pytest.approx(plan.half_planes.u * (1 - rho0))
    points = [np.asarray(mark.get_xydata()) for mark in axes.lines]
    marks = [tuple(point[0].tolist()) for point in points if len(point) == 1]
    assert tuple(plan.channel.flip_probabilities.tolist()) in marks
    assert len(marks) == 3
    for ending in ("png", "svg", "pdf"):
        path = plot.save(figure, tmp_path / f"region.{ending}")
        assert path.stat().st_size > 1000
    assert sorted(p.name for p in tmp_path.iterdir()) == ["region.pdf", "region.png", "region.svg"]


def test_tradeoff_leaves_gaps_where_a_method_has_no_answer() -> None:
    figure = plot.tradeoff([1.0, 2.0, 3.0], {"a": [0.4, 0.3, 0.2], "b": [None, 0.4, 0.3]})
    first, second = figure.axes[0].lines
    assert np.asarray(first.get_ydata()).tolist() == [0.4, 0.3, 0.2]
    assert np.isnan(np.asarray(second.get_ydata())[0])


@pytest.mark.slow
def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(cv.InvalidInput, match="q \\+ r > 1"):
        plot.noise_region(cv.calibrate(cv.MarkovChain.binary(0.9, 0.8), 1.0, max_length=5))
    with pytest.raises(cv.InvalidInput, match="2 values for 'a'"):
        plot.tradeoff([1.0], {"a": [0.4, 0.3]})
    figure = plot.tradeoff([1.0, 2.0], {"a": [0.4, 0.3]})
    with pytest.raises(cv.InvalidInput, match="path: found"):
        plot.save(figure, tmp_path / "figure.xyz")
    with pytest.raises(FileNotFoundError):
        plot.save(figure, tmp_path / "missing" / "figure.png")
    assert list(tmp_path.iterdir()) == []


def test_budget_and_intervals() -> None:
    figure = plot.budget([1.0, 2.0], [0.1, 0.01], [0.6, 0.7], guess=0.55)
    assert len(figure.axes) == 2
    with pytest.raises(cv.InvalidInput, match="one a budget"):
        plot.budget([1.0, 2.0], [0.1], [0.6, 0.7])
    low, value, high = [0.1, 0.2], [0.2, 0.3], [0.3, float("inf")]
    figure = plot.intervals({"one": (value, low, high)}, ["a", "b"], truth=[0.2, 0.2])
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["a", "b"]
    with pytest.raises(cv.InvalidInput, match="curves"):
        plot.intervals({"one": (value, low, high)}, [1, 2, 3])


def test_bars_reach_from_limit_to_limit() -> None:
    """Also where the value lies outside them, or the upper one is nowhere."""
    curves = {"a": ([-0.2, 0.5, np.nan], [0.0, 0.1, 0.0], [0.3, np.inf, 1.0])}
    axes = plot.intervals(curves, ["x", "y", "z"]).axes[0]
    (bars,) = axes.collections
    ends = [tuple(np.asarray(path.vertices)[:, 1]) for path in bars.get_paths()]
    assert ends[0] == (0.0, 0.3)
    assert ends[1] == (0.1, pytest.approx(1.06))
    assert ends[2] == (0.0, 1.0)
    arrows = [line for line in axes.lines if line.get_marker() == "^"]
    (arrow,) = np.concatenate([np.asarray(line.get_xydata()) for line in arrows])
    assert tuple(arrow) == (1.0, pytest.approx(1.06))


def test_many_curves_and_names_stay_apart() -> None:
    value = np.linspace(0, 1, 50)
    curves = {f"curve {i}": (value, value, value) for i in range(16)}
    figure = plot.intervals(curves, [f"group {i}" for i in range(50)])
    axes = figure.axes[0]
    looks = {(line.get_color(), line.get_marker()) for line in axes.lines
             if str(line.get_label()).startswith("curve")}  # fmt: skip
    assert len(looks) == 16
    assert [text.get_text() for text in axes.get_xticklabels()][:2] == ["group 0", "group 3"]
    assert axes.get_legend() is None
    assert len(figure.legends) == 1
    whole = plot.intervals({"a": ([1, 2], [0, 1], [2, 3])}, [0, 1]).axes[0]
    assert all(float(tick).is_integer() for tick in whole.get_xticks())


MECHANISMS = ("independent", "thinned independent", "correlated", "sticky", "thinned sticky",
              "tracking", "guessing")  # fmt: skip


def test_tradeoff_tells_all_mechanisms_apart() -> None:
    curves = {name: [0.5 - 0.05 * number, 0.1] for number, name in enumerate(MECHANISMS)}
    figure = plot.tradeoff([1.0, 2.0], curves)
    axes = figure.axes[0]
    assert tuple(line.get_label() for line in axes.lines) == MECHANISMS
    assert len({line.get_color() for line in axes.lines}) == len(MECHANISMS)
    assert len({str(line.get_linestyle()) for line in axes.lines}) > 1
    (legend,) = figure.legends
    assert tuple(text.get_text() for text in legend.get_texts()) == MECHANISMS


def _marked(figure: Figure) -> list[list[tuple[float, float]]]:
    """From where to where wrong reports are marked, by row."""
    bars = [c for c in figure.axes[0].collections if c.get_label() == "wrong"]
    corners = [[np.asarray(path.vertices)[:, 0] for path in bar.get_paths()] for bar in bars]
    return [[(float(xs.min()), float(xs.max())) for xs in row] for row in corners]


def test_release_figure_marks_and_counts_wrong_reports() -> None:
    original = [0, 1, 1, 0, 0]
    rows = {"independent": [1, 1, 0, 0, 1], "sticky": [0, 0, 0, 0, 0], "exact": original}
    figure = plot.release_figure(original, rows, [0.1, 0.9, 0.8, 0.2, 0.1], "title")
    # Single points and the last one too.
    assert _marked(figure) == [[(0, 1), (2, 3), (4, 5)], [(1, 3)], []]
    words = [text.get_text() for text in figure.axes[0].texts]
    assert words == ["original", "60%\nwrong", "independent", "40%\nwrong", "sticky",
                     "0%\nwrong", "exact", "0", "0.5", "1", "posterior\nof state 1"]  # fmt: skip


def test_release_figure_keeps_many_states_in_their_rows() -> None:
    figure = plot.release_figure([0, 3, 2, 1], {"one": [3, 3, 2, np.nan], "two": [0, 0, 0, 0]})
    heights = [np.asarray(line.get_ydata()) for line in figure.axes[0].lines]
    spans = [(np.nanmin(row), np.nanmax(row)) for row in heights]
    assert spans == [
        (2, pytest.approx(2.8)),
        (pytest.approx(1 + 1.6 / 3), pytest.approx(1.8)),
        (0, 0),
    ]


def test_release_figure_of_one_release_and_of_silent_points() -> None:
    silent = np.ma.array([0, 1, 1, 0], mask=[True, False, False, True])
    figure = plot.release_figure([0, 1, 0, 0], silent)
    assert _marked(figure) == [[(2, 3)]]
    assert "50%\nwrong" in [text.get_text() for text in figure.axes[0].texts]
    never = plot.release_figure([0, 1], [np.nan, np.nan])
    assert "no report" in [text.get_text() for text in never.axes[0].texts]
    for wrong in ([0, 1], {"a": [0, 1, 1], "b": [0, 1]}):
        with pytest.raises(cv.InvalidInput, match="equal length"):
            plot.release_figure([0, 1, 1], wrong)


@pytest.mark.parametrize("how", [
    {"mechanism": "independent"}, {"mechanism": "sticky"}, {"mechanism": "sticky", "every": 3},
    {"max_length": 50},
])  # fmt: skip
def test_a_plan_shows_what_its_noise_does(how: dict[str, Any]) -> None:
    plan = cv.calibrate(CHAIN, 3.0, **how)
    figure = plan.plot(points=120)
    assert f"{plan.mechanism} noise, ε = 3" in figure.axes[0].get_title()
    assert figure.axes[0].get_xlim() == (0, how.get("max_length", 120))
    words = [text.get_text() for text in figure.axes[0].texts]
    assert words[-1] == "posterior\nof state 1"
    many = cv.calibrate(cv.MarkovChain(np.full((3, 3), 1 / 3)), 3.0).plot()
    assert "posterior" not in "".join(text.get_text() for text in many.axes[0].texts)
