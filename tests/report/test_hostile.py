"""Names and tables that would break a page: no script runs, nothing breaks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import chainveil as cv
from chainveil.report import Column, Figure, Page, Section, Table, Text, number
from tests.report.releases import released, states

LARGEST = 5_000_000
NAMES = [
    "<script>window.ran=1</script>",
    "</script><script>window.ran=2</script>",
    "<img src=x onerror='window.ran=3'>",
    '"><svg onload=window.ran=4>',
    "<!--<script>window.ran=5",
    "javascript:window.ran=6",
    "{{ 7 * 7 }}{% raw %}",
    "]]>&lt;b&gt; \\u003cscript\\u003e",
    "\u202egnitirw fo noitcerid\x1b[31m",
    "x" * 3000,
    "x" * 2999 + "y",
    "  ",
]
TITLE = "by <b onclick"


def _table(names: list[str], points: int = 60, column: str = "person") -> Any:
    held = states(len(names), points).reshape(-1)
    return pa.table({column: np.repeat(names, points), "bpm": np.where(held == 1, 70.0, 50.0)})


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A release in which every name is an attack: of series, of columns, of states."""
    column = "<b onclick='window.ran=7'>"
    labels = ["</script><script>window.ran=8</script>", "<i>high"]
    return released(
        tmp_path_factory.mktemp("hostile"), _table(NAMES, column=column), series=column,
        labels=labels, mechanism="independent",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["public", "private"])
def test_no_script_runs_even_without_the_policy(name: str, hostile: Any, opening: Any) -> None:
    """The names are escaped; the policy of the page is there in case one is not."""
    with opening(getattr(hostile, name), bypass_csp=True) as opened:
        page = opened.page
        page.eval_on_selector_all("details", "all => all.forEach(d => d.open = true)")
        for mark in page.locator(".chart [role=graphics-symbol]").all()[:40:4]:
            mark.dispatch_event("mousemove")
        assert page.evaluate("window.ran") is None
        assert opened.complaints == []
        assert len(opened.asked) == 1
        assert page.locator("b, i, img, main script:not([type='application/json'])").count() == 0
        shown = [row[0][0] for row in opened.table(TITLE)]
        assert NAMES[0] in shown
        assert NAMES[6] in shown
        assert "\\u202egnitirw fo noitcerid\\x1b[31m" in shown
        assert len(shown) == len(set(shown)) == len(NAMES)
        if name == "private":
            lost = opened.marks("What does the noise lose")
            assert lost.count() == len(NAMES) + 1, "and a line at the budget"
            told = lost.evaluate_all("all => all.map(mark => mark.getAttribute('aria-label'))")
            assert len(set(told)) == len(told)
        marks = opened.marks(TITLE)
        assert marks.count() == len(NAMES), "two long names that begin alike are two lines"
        assert page.evaluate("document.documentElement.scrollWidth") <= 1000


def test_names_stay_whole_inside_json(hostile: Any) -> None:
    """No text of the page ends its script early, and what JSON holds is the name itself."""
    text = hostile.public.read_text(encoding="utf-8")
    assert text.count("<script") == text.count("</script>")
    for raw in NAMES[:5]:
        assert raw not in text


def test_long_names_leave_narrow_screens_alone(hostile: Any, opening: Any) -> None:
    with opening(hostile.public, viewport={"width": 390, "height": 800}) as opened:
        opened.page.eval_on_selector_all("details", "all => all.forEach(d => d.open = true)")
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.slow
def test_one_series_without_a_name(tmp_path: Path, opening: Any) -> None:
    table = pa.table({"bpm": np.where(states(1, 200)[0] == 1, 70.0, 50.0)})
    made = released(tmp_path, table, series=None, mechanism="independent")
    with opening(made.private) as opened:
        assert opened.complaints == []
        assert opened.page.locator("figcaption", has_text="by None").count() == 0
        assert opened.marks("Where do reports of series 1 differ").count() > 2
        assert len(opened.table("What does the noise lose")) == 1


@pytest.mark.slow
def test_a_loss_without_limit_is_drawn_to_the_end_and_says_so(tmp_path: Path) -> None:
    """A person who changes at each point gives every point away, whatever the noise."""
    rates = np.concatenate(
        [np.tile([50.0, 70.0], 100), np.where(states(1, 200)[0] == 1, 70.0, 50.0)]
    )
    table = pa.table({"person": ["fidgety"] * 200 + ["usual"] * 200, "bpm": rates})
    made = released(tmp_path, table, pages=False, mechanism="independent")
    page = cv.report.curator_page(made.certificate, made.release, made.original)
    (section,) = (one for one in page.sections if one.title.startswith("What each series loses"))
    warned, figure = section.blocks[1:]
    assert isinstance(warned, Text)
    assert warned.text.startswith("1 of 2 series lose more")
    assert isinstance(figure, Figure)
    assert figure.table.cells[0][1].shown == "inf"
    text = json.dumps(figure.spec, allow_nan=False)
    assert "fidgety: without limit" in text


@pytest.mark.slow
def test_constant_series_and_intervals_without_limits(tmp_path: Path, opening: Any) -> None:
    """Of two people one never changes; from so few points a sojourn may be of any length."""
    rates = np.concatenate([np.full(80, 50.0), np.where(states(1, 80)[0] == 1, 70.0, 50.0)])
    table = pa.table({"person": ["still"] * 80 + ["moving"] * 80, "bpm": rates})
    made = released(tmp_path, table, mechanism="independent")
    with opening(made.private) as opened:
        assert opened.complaints == []
        lasting = opened.table("How long does bpm stay")
        assert "no limit" in [cell[0] for row in lasting for cell in row]
        assert "Infinity" in [cell[1] for row in lasting for cell in row]
        rows = {row[0][0]: row for row in opened.table("What does the noise lose")}
        assert rows["still"][1][0] == "not known"
        assert rows["still"][-1][0].startswith("no chain fits")
        heading = opened.heading("What does the noise lose", 1)
        opened.page.eval_on_selector_all("details", "all => all.forEach(d => d.open = true)")
        heading.click()
        order = [row[0][0] for row in opened.table("What does the noise lose")]
        assert order[-1] == "still", "what is not known comes last"


@pytest.mark.slow
def test_five_thousand_series_are_paged_and_summarised(tmp_path: Path, opening: Any) -> None:
    table = _table([f"p{n:05}" for n in range(5000)], points=20)
    made = released(tmp_path, table, mechanism="independent")
    for path in (made.public, made.private):
        assert path.stat().st_size < LARGEST
    with opening(made.private) as opened:
        assert opened.complaints == []
        caption = "Share of points at which bpm is high (60 or above), by person"
        assert opened.marks(caption).count() == 60
        title = opened.figure(caption).locator("figcaption").inner_text()
        assert title.endswith("(60 of 5,000, evenly by rank; all are in the table)")
        _turn_pages(opened, caption)


def _turn_pages(opened: Any, caption: str) -> None:
    figure = opened.figure(caption)
    figure.locator("summary").click()
    assert [row[0][0] for row in opened.table(caption)] == [f"p{n:05}" for n in range(100)]
    earlier, later = figure.locator(".pager button").all()
    assert earlier.is_disabled()
    later.click()
    assert opened.table(caption)[0][0][0] == "p00100"
    assert figure.locator(".where").inner_text() == "Rows 101 to 200 of 5,000"
    opened.heading(caption, 1).click()
    held = json.loads(figure.locator(".pager script").text_content())
    least = sorted(float(row[1][1]) for row in held)[:100]
    assert opened.values(caption, 1) == least
    for _ in range(49):
        later.click()
    assert later.is_disabled()
    assert opened.values(caption, 1)[-1] == max(float(row[1][1]) for row in held)


def test_long_tables_are_paged(tmp_path: Path, opening: Any) -> None:
    """The quick one for the five thousand series, on a table of 250 rows."""
    rows = [(f"name {n}", float(n % 7)) for n in range(250)]
    table = Table("Which are they?", (Column("name"), number("value")), rows)
    path = Page("Long", "", (Section("All", (table,)),)).save(tmp_path / "long.html")
    assert path.stat().st_size < 100_000, "a page without charts needs nothing to draw them"
    with opening(path) as opened:
        pager = opened.page.locator(".pager")
        assert len(opened.table("Which are they?")) == 100
        pager.locator("button").nth(1).click()
        pager.locator("button").nth(1).click()
        assert pager.locator(".where").inner_text() == "Rows 201 to 250 of 250"
        assert opened.table("Which are they?")[-1][0] == ["name 249", "name 249"]
        assert opened.complaints == []


def test_numbers_that_json_does_not_know() -> None:
    cells = Table("", (number("x"),), [[np.float64("inf")], [np.float64("nan")], [None]]).cells
    assert [cell.shown for (cell,) in cells] == ["no limit", "not known", "not known"]
    assert [cell.value for (cell,) in cells] == ["Infinity", "NaN", "NaN"]


def test_text_of_a_page_is_never_read_as_html() -> None:
    page = Page("<b>", "<i>", (Section("<u>", (Text("<s>"),)),), mark="<q>")
    for tag in ("<b>", "<i>", "<u>", "<s>", "<q>"):
        assert tag not in page.html()
    assert isinstance(cv.report.Page, type)
