"""Pages in a real browser: they load from disk, draw, answer, sort, turn dark and print."""

from __future__ import annotations

from typing import Any

import pytest

from tests.report.releases import PEOPLE

BY_PERSON = "Share of points at which bpm is high (60 or above), by person, 95% intervals"
OVER_TIME = "Share of points at which bpm is high (60 or above), over time"
NOISE = "How often is each value reported"
BESIDE = "Where do reports of person person 0 differ from the original?"
PAGES = pytest.mark.parametrize("name", ["public", "private"])


@pytest.mark.usefixtures("browser")
@PAGES
def test_a_page_asks_for_nothing_and_complains_of_nothing(name: str, request: Any) -> None:
    opened = request.getfixturevalue(name)
    assert len(opened.asked) == 1
    assert opened.asked[0].startswith("file:///")
    assert opened.complaints == []
    drawn = opened.page.eval_on_selector_all("figure", "all => all.map(f => f.dataset.drawn)")
    assert drawn
    assert set(drawn) == {"yes"}


def test_a_page_may_load_and_run_nothing_else(public: Any) -> None:
    """The policy of the page, against what a name that was not escaped could try."""
    tried = public.page.evaluate("""async () => {
        const script = document.createElement("script");
        script.textContent = "window.ran = true";
        document.body.append(script);
        const image = new Image();
        const loaded = new Promise(done => {
            image.onload = () => done(true); image.onerror = () => done(false); });
        image.src = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==";
        const fetched = fetch("data:text/plain,x").then(() => true, () => false);
        return [window.ran === true, await loaded, await fetched];
    }""")
    assert tried == [False, False, False]
    public.complaints.clear()


def test_charts_draw_every_value(public: Any, private: Any, made: Any) -> None:
    assert public.marks(BY_PERSON).count() == PEOPLE
    assert public.marks(OVER_TIME).count() == len(public.table(OVER_TIME)) == 24
    assert public.marks(NOISE).count() == len(public.table(NOISE)) == 8
    assert private.marks(BESIDE).count() == len(private.table(BESIDE))
    assert private.marks("What does the noise lose").count() == PEOPLE + 1
    assert private.marks("How many points does an attacker").count() == 5


def test_a_mark_answers_under_the_mouse_and_to_the_keyboard(public: Any) -> None:
    tooltip = public.page.locator("#tooltip")
    mark = public.marks(BY_PERSON).nth(2)
    mark.scroll_into_view_if_needed()
    mark.hover()
    row = public.table(BY_PERSON)[2]
    assert tooltip.is_visible()
    assert tooltip.inner_text() == f"person 2: {row[1][0]} ({row[2][0]} to {row[3][0]})"
    public.page.mouse.move(0, 0)
    assert not tooltip.is_visible()
    chart = public.figure(BY_PERSON).locator(".chart")
    chart.focus()
    public.page.keyboard.press("ArrowRight")
    public.page.keyboard.press("ArrowDown")
    assert tooltip.inner_text().startswith("person 1: ")
    public.page.keyboard.press("ArrowLeft")
    assert tooltip.inner_text().startswith("person 0: ")
    public.page.keyboard.press("Escape")
    assert not tooltip.is_visible()


def test_tables_sort_both_ways_by_number_and_by_name(public: Any) -> None:
    public.figure(BY_PERSON).locator("summary").click()
    for column, read in ((1, float), (0, str)):
        before = [read(row[column][1]) for row in public.table(BY_PERSON)]
        heading = public.heading(BY_PERSON, column)
        for way, reverse in (("ascending", False), ("descending", True)):
            heading.focus()
            public.page.keyboard.press("Enter")
            after = [read(row[column][1]) for row in public.table(BY_PERSON)]
            assert after == sorted(before, reverse=reverse)
            assert heading.locator("..").get_attribute("aria-sort") == way


def _colours(page: Any) -> list[int]:
    """Brightness, 0 to 255, of the page and of its text, and of a label of a chart."""
    found = page.evaluate("""() => {
        const parts = text => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
        const bright = text => parts(text).reduce((a, b) => a + b) / 3;
        const label = document.querySelector(".chart text");
        return [getComputedStyle(document.documentElement).backgroundColor,
                getComputedStyle(document.body).color, getComputedStyle(label).fill].map(bright);
    }""")
    return [round(number) for number in found]


def test_dark_and_print(made: Any, opening: Any) -> None:
    with opening(made.private, color_scheme="dark") as opened:
        page = opened.page
        paper, ink, label = _colours(page)
        assert paper < 40
        assert min(ink, label) > 200
        page.emulate_media(color_scheme="light")
        paper, ink, label = _colours(page)
        assert paper == 255
        assert max(ink, label) < 60
        page.emulate_media(color_scheme="dark", media="print")
        paper, ink, label = _colours(page)
        assert paper == 255
        assert max(ink, label) < 60
        assert not page.locator("nav").is_visible()
        assert page.locator(".across").is_visible()
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        lengths = "all => all.map(part => [part.open, part.querySelector('tbody').rows.length])"
        for opened_now, rows in page.eval_on_selector_all("details", lengths):
            assert opened_now == (rows <= 40)
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.locator("details[open]").count() == 0
        printed = page.pdf()
        assert printed.startswith(b"%PDF")
        assert printed.count(b"/Type /Page\n") > 3
        assert opened.complaints == []


@PAGES
def test_narrow_screens_do_not_scroll_sideways(name: str, made: Any, opening: Any) -> None:
    size = {"width": 390, "height": 800}
    with opening(getattr(made, name), viewport=size) as opened:
        opened.page.eval_on_selector_all("details", "all => all.forEach(d => d.open = true)")
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
        assert opened.marks(BY_PERSON).count() == PEOPLE
        # What a mark tells stays on the screen.
        opened.figure(BY_PERSON).locator(".chart").focus()
        for _ in range(PEOPLE):
            opened.page.keyboard.press("ArrowRight")
            box = opened.page.locator("#tooltip").bounding_box()
            assert 0 <= box["x"] <= box["x"] + box["width"] <= 390


# The private page holds the public one, and takes longer.
@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("public", "light"),
        pytest.param("private", "light", marks=pytest.mark.slow),
        pytest.param("private", "dark", marks=pytest.mark.slow),
    ],
)
def test_axe_finds_no_serious_fault(name: str, scheme: str, made: Any, opening: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe

    with opening(getattr(made, name), color_scheme=scheme) as opened:
        opened.page.eval_on_selector_all("details", "all => all.forEach(d => d.open = true)")
        found = Axe().run(opened.page).response["violations"]
    serious = [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in found
               if one["impact"] in ("serious", "critical")]  # fmt: skip
    assert serious == []


def test_the_private_page_is_marked_on_screen_and_in_its_title(private: Any, public: Any) -> None:
    words = "private: do not publish"
    assert private.page.locator(".mark").inner_text() == words
    written = "all => getComputedStyle(all[0], '::after').content"
    assert private.page.eval_on_selector_all(".across", written) == f'"{words}"'
    assert words not in public.page.content()
