"""The documentation as a site: it builds without a warning, and a reader finds the way."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

import chainveil

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
NEEDED = ("sphinx", "myst_parser", "furo", "numpydoc")
TASKS = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
# What a reader must find; the page may list more.
WANTED = {
    "release a table", "stream on a device", "choose a mechanism", "read a certificate",
    "estimate by person", "add a mechanism", "find the proof that Theorem 2 fails", "cite",
}  # fmt: skip


class Page(HTMLParser):
    """Links with their words, places that can be linked to, headings, and what is loaded."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[tuple[str, str]] = []
        self.places: set[str] = set()
        self.headings: dict[str, str] = {}
        self.loaded: list[str] = []
        self._open: list[tuple[str, str, list[str]]] = []
        self._section = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        held = {name: value or "" for name, value in attrs}
        if "id" in held:
            self.places.add(held["id"])
            self._section = held["id"] if tag == "section" else self._section
        if tag == "a" and "href" in held:
            self._open.append((tag, held["href"], []))
        if re.fullmatch("h[1-4]", tag):
            self._open.append((tag, self._section, []))
        if tag in ("script", "img", "iframe") and "src" in held:
            self.loaded.append(held["src"])
        if tag == "link" and held.get("rel") == "stylesheet":
            self.loaded.append(held["href"])

    def handle_data(self, data: str) -> None:
        for _, _, words in self._open:
            words.append(data)

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1][0] == tag:
            _, where, words = self._open.pop()
            text = " ".join("".join(words).split()).removesuffix("¶")
            if tag == "a":
                self.links.append((text, where))
            else:
                self.headings[where] = text


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Page]:
    """The pages of the site, built as ``make docs`` does."""
    for name in NEEDED:
        pytest.importorskip(name, reason="pip install 'chainveil[docs]'")
    goal = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "--fail-on-warning", "--keep-going",
               "--nitpicky", "-b", "html", str(DOCS), str(goal)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return {path.resolve(): Page(path) for path in sorted(goal.rglob("*.html"))}


def _start(site: dict[Path, Page]) -> Path:
    return min((path for path in site if path.name == "index.html"), key=lambda p: len(p.parts))


def _target(page: Path, link: str) -> tuple[Path, str]:
    where, _, place = link.partition("#")
    goal = (page.parent / unquote(where)).resolve() if where else page
    return goal, unquote(place)


@pytest.mark.slow
def test_every_link_inside_leads_somewhere(site: dict[Path, Page]) -> None:
    assert site
    for path, page in site.items():
        for text, link in page.links:
            if "://" in link or link.startswith("mailto:"):
                continue
            goal, place = _target(path, link)
            assert goal.exists(), f"{path.name}: {text} -> {link}"
            if place and goal in site:
                assert place in site[goal].places, f"{path.name}: {text} -> {link}"


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site: dict[Path, Page]) -> None:
    """The pages open without a network, in light and in dark, and can be searched."""
    for path, page in site.items():
        for link in page.loaded:
            assert "//" not in link, f"{path.name} loads {link}"
    start = _start(site)
    assert (start.parent / "searchindex.js").stat().st_size > 100_000
    assert "theme-toggle" in start.read_text(encoding="utf-8")


@pytest.mark.slow
def test_readers_reach_what_they_come_for(site: dict[Path, Page]) -> None:
    """In three clicks at most, on links with the words that the page of tasks names."""
    tasks = TASKS.findall((DOCS / "find.md").read_text(encoding="utf-8"))[1:]
    ways = {task.strip(): (way.strip().split(" → "), end.strip()) for task, way, end in tasks
            if set(task.strip()) - {"-"}}  # fmt: skip
    assert set(ways) >= WANTED
    for task, (clicks, end) in ways.items():
        assert 1 <= len(clicks) <= 3
        here, place = _start(site), ""
        for click in clicks:
            found = [link for text, link in site[here].links if text == click]
            assert found, f"{task}: no link {click!r} on {here.name}"
            here, place = _target(here, found[0])
        headings = site[here].headings
        reached = headings[place] if place else next(iter(headings.values()))
        assert reached == end, task


@pytest.mark.slow
def test_every_public_name_is_described(site: dict[Path, Page]) -> None:
    places = {place for page in site.values() for place in page.places}
    rooms = ("attack", "certificate", "device", "estimate", "inference", "mechanism", "model",
             "noise", "plot", "spark", "table")  # fmt: skip
    modules = [chainveil, *(importlib.import_module(f"chainveil.{room}") for room in rooms)]
    top = {id(getattr(chainveil, name)) for name in chainveil.__all__}
    for module in modules:
        for name in module.__all__:
            thing = getattr(module, name)
            if module is not chainveil and id(thing) in top:
                continue
            path = thing.__name__ if hasattr(thing, "__path__") else f"{module.__name__}.{name}"
            if not isinstance(thing, type(chainveil)):
                assert path in places, path


def test_what_the_package_shows_of_itself() -> None:
    """``help`` names every public noun, and ``dir`` nothing else."""
    text = chainveil.__doc__ or ""
    errors = {name for name in chainveil.__all__ if "Error" in name or "Warning" in name}
    left_out = {"EngineFailure", "MissingExtra", "baselines", "closed_form", *errors}
    assert not {name for name in chainveil.__all__ if name not in text} - left_out
    assert all(hasattr(chainveil, name) for name in dir(chainveil) if name != "spark")
    assert not {"Any", "import_module", "TYPE_CHECKING", "annotations"} & set(dir(chainveil))
