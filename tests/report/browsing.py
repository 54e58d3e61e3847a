"""What a test asks of a page that is open in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MARKS = ".chart [role=graphics-symbol][aria-label]:not([aria-roledescription=axis])"
MARKS += ":not([aria-roledescription=legend])"
READ = """table => [...table.tBodies[0].rows].map(
    row => [...row.cells].map(cell => [cell.textContent, cell.dataset.value]))"""


@dataclass
class Opened:
    """A page, and everything that it asked for or complained of."""

    page: Any
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @classmethod
    @contextmanager
    def of(cls, browser: Any, path: Path, **settings: Any) -> Iterator[Opened]:
        """Open a page from disk without a network, and wait until its charts are drawn."""
        context = browser.new_context(**{"viewport": {"width": 1000, "height": 900}, **settings})
        context.set_offline(True)
        opened = cls(context.new_page())
        opened._listen()
        opened.page.goto(path.resolve().as_uri())
        opened.page.wait_for_selector("html[data-ready=yes]", state="attached", timeout=60_000)
        yield opened
        context.close()

    def _listen(self) -> None:
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda said: self.complaints.append(f"{said.type}: {said.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))

    def table(self, caption: str) -> list[list[list[str]]]:
        """The cells of a table, each as it is read and by its value; found by its caption."""
        return list(self._table(caption).evaluate(READ))

    def values(self, caption: str, column: int) -> list[float]:
        """A column of numbers, to the last digit."""
        return [float(row[column][1]) for row in self.table(caption)]

    def heading(self, caption: str, column: int) -> Any:
        """The button that sorts by a column."""
        return self._table(caption).locator("thead button").nth(column)

    def figure(self, title: str) -> Any:
        """A figure, by how its title begins."""
        return self.page.locator("figure", has=self.page.locator("figcaption", has_text=title))

    def marks(self, title: str) -> Any:
        """What a chart draws of its values."""
        return self.figure(title).locator(MARKS)

    def _table(self, caption: str) -> Any:
        captions = self.page.locator("caption", has_text=caption)
        return self.page.locator("table", has=captions)
