"""Answers as figures: what is asked in the title, nothing twice, nothing covered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import chainveil as cv
from chainveil import estimate, plot
from chainveil.mechanism import seeded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHAIN = cv.MarkovChain.binary(0.1, 0.2)
PLAN = cv.calibrate(CHAIN, 4.0)
RELEASE = PLAN.sanitize(CHAIN.sample(6000, rng=1), rng=seeded(2))
PEOPLE = np.repeat(["Ann", "Bob", "Cleo"], 2000)


def _covered(figure: Figure) -> bool:
    """Whether a legend lies over some axes."""
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer() if hasattr(figure.canvas, "get_renderer") else None
    boxes = [legend.get_window_extent(renderer) for legend in figure.legends]
    inside = any(axes.get_legend() is not None for axes in figure.axes)
    return inside or any(
        box.overlaps(axes.get_window_extent()) for box in boxes for axes in figure.axes
    )


def _names(figure: Figure) -> list[str]:
    """What the legend tells apart."""
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def _lines_across(axes: Any) -> list[float]:
    """Heights of the lines that mark the scale."""
    return [float(np.asarray(line.get_ydata())[0]) for line in axes.lines if line.get_ls() == ":"]


def test_a_share_has_one_state_of_two_and_lines_at_0_and_1() -> None:
    found = estimate.frequency(RELEASE, PLAN, by=PEOPLE)
    figure = found.plot(["calm", "active"], by="person", about="ε = 4, bpm threshold 65, a.csv")
    (axes,) = figure.axes
    title = axes.get_title()
    assert title == ("Share of points in active, by person, 95% intervals\n"
                     "ε = 4, bpm threshold 65, a.csv")  # fmt: skip
    assert _lines_across(axes) == [0.0, 1.0]
    assert axes.get_ylim()[0] < 0 < 1 < axes.get_ylim()[1]
    assert figure.legends == []
    assert [text.get_text() for text in axes.get_xticklabels()] == ["Ann", "Bob", "Cleo"]
    # Values and limits, in the order of the groups.
    drawn = np.asarray(axes.lines[0].get_ydata())
    np.testing.assert_allclose(drawn, np.clip(found.value[:, 1], 0, 1))


def test_spells_have_a_log_scale() -> None:
    figure = estimate.durations(RELEASE, PLAN, by=PEOPLE).plot(["calm", "active"])
    assert figure.axes[0].get_yscale() == "log"
    assert _names(figure) == ["calm", "active"]
    assert not _covered(figure)


def test_windows_of_several_series_have_a_panel_each() -> None:
    series = [RELEASE[name == PEOPLE] for name in ("Ann", "Bob", "Cleo")]
    figure = estimate.transitions(series, PLAN, window=500).plot()
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["0", "1", "2"]
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    assert _names(figure) == ["0 -> 1", "1 -> 0"]
    assert not _covered(figure)


def test_of_very_many_panels_the_first_are_drawn_and_the_title_says_so() -> None:
    series = [RELEASE[:400]] * 30
    figure = estimate.frequency(series, PLAN, window=200).plot()
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert len(shown) == 24
    assert "the first 24 of 30" in figure.get_suptitle()


def test_a_comparison_has_a_line_at_no_difference() -> None:
    def ask(level: float) -> Any:
        return estimate.frequency(RELEASE, PLAN, by=PEOPLE, level=level)

    found = estimate.compare(ask)
    (axes,) = found.plot().axes
    assert _lines_across(axes) == [0.0]
    assert axes.get_xticklabels()[0].get_text() == "Ann − Bob"
    ratio = estimate.compare(ask, how="ratio")
    assert _lines_across(ratio.plot().axes[0]) == [1.0]


@pytest.mark.parametrize("question", ["pairs", "autocorrelation", "transitions", "frequency"])
def test_legends_cover_nothing(question: str) -> None:
    ask: Any = getattr(estimate, question)
    assert not _covered(ask(RELEASE, PLAN, by=PEOPLE).plot())
    assert not _covered(ask(RELEASE, PLAN).plot())


def test_names_are_drawn_as_they_are() -> None:
    """A dollar begins no formula; a wrong one would be an error when the figure is saved."""
    found = estimate.frequency(RELEASE, PLAN, by=np.repeat(["$\\frac$", "<b>", "x" * 500], 2000))
    figure = found.plot(["$", r"\frac{$"], by="$who")
    figure.draw_without_rendering()
    names = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert len(names[2]) < 30


def test_truth_is_drawn_beside_the_answer() -> None:
    found = estimate.frequency(RELEASE, PLAN, by=PEOPLE)
    figure = found.plot(truth=found)
    assert _names(figure)[-1] == "truth"
    crosses = [line for line in figure.axes[0].lines if line.get_marker() == "x"]
    np.testing.assert_allclose(np.asarray(crosses[0].get_ydata()), found.value[:, 1])


def _frame(people: int) -> pd.DataFrame:
    rows = [
        {"person": f"p{who}", "hour": hour, "state": state, "estimate": 0.5, "low": 0.4,
         "high": 0.6, "unit": "share", "points": 10}
        for who in range(people) for hour in range(3) for state in ("low", "high")
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_a_frame_of_few_groups_has_curves_and_one_of_many_has_panels() -> None:
    few = plot.estimates(_frame(3), level=0.9, about="ε = 2")
    assert _names(few) == ["p0", "p1", "p2"]
    assert few.axes[0].get_title().startswith("Share of points in high, by person, hour, 90%")
    assert few.axes[0].get_title().endswith("ε = 2")
    many = plot.estimates(_frame(7))
    assert [axes.get_title(loc="left") for axes in many.axes[:7]] == [f"p{i}" for i in range(7)]
    assert many.legends == []


@pytest.mark.slow
def test_every_question_of_a_table_can_be_drawn() -> None:
    frame = pd.DataFrame({"person": PEOPLE, "x": CHAIN.sample(6000, rng=3)})
    release = cv.sanitize_table(frame, "x", plan=PLAN, series="person", rng=seeded(4))
    for question in ("share", "pairs", "transitions", "sojourns", "autocorrelation"):
        for by in ("person", None):
            figure = release.plot(question, by=by)
            assert not _covered(figure)
            assert "ε = 4" in figure.axes[0].get_title()
    (axes,) = release.plot("autocorrelation", by=None).axes
    assert axes.get_xlabel() == "lag"


def test_figures_show_themselves_in_notebooks() -> None:
    figure: Any = estimate.frequency(RELEASE, PLAN).plot()
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_what_is_not_a_frame_of_answers_is_refused() -> None:
    with pytest.raises(cv.InvalidInput, match="estimate_table"):
        plot.estimates(pd.DataFrame({"a": [1]}))
    with pytest.raises(cv.InvalidInput, match="no rows"):
        plot.estimates(_frame(1).head(0))


def test_a_frame_of_comparisons_names_both_groups() -> None:
    frame = pd.DataFrame({"person": PEOPLE, "x": CHAIN.sample(6000, rng=3)})
    release = cv.sanitize_table(frame, "x", plan=PLAN, series="person", rng=seeded(4))
    apart = cv.compare_table(release.table, release.certificate, "share", by="person")
    (axes,) = plot.estimates(apart).axes
    names = [text.get_text() for text in axes.get_xticklabels()]
    assert names == ["Ann − Bob", "Ann − Cleo", "Bob − Cleo"]
    assert axes.get_title().startswith("Difference of share, by person")
    assert _lines_across(axes) == [0.0]
