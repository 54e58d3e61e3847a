"""Blocks as one HTML file that needs nothing else: no network, no second file, no privilege.

Whatever comes from others is escaped where it enters the page, in HTML as in JSON, and a policy
inside the page lets no script run but the two that are written here, by their digests.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from chainveil.errors import MissingExtra
from chainveil.report.blocks import Block, Figure, Section, Table
from chainveil.text import printable


@dataclass(frozen=True)
class Page:
    """A title, a line under it, and sections.

    Attributes
    ----------
    title, subtitle : str
    sections : tuple of Section
    mark : str
        Written across every part of the page and every sheet of paper, such as "private: do not
        publish"; none where it is empty.
    """

    title: str
    subtitle: str
    sections: tuple[Section, ...]
    mark: str = ""

    def html(self) -> str:
        """The page as one text."""
        scripts = [_asset("page.js")]
        if any(isinstance(block, Figure) for block in self.blocks):
            scripts.insert(0, vega())
        style = _asset("page.css")
        return str(
            _environment().get_template("page.html").render(
                page=self, scripts=scripts, style=style, policy=_policy(scripts, style)
            )
        )  # fmt: skip

    @property
    def blocks(self) -> Iterator[Block]:
        """All blocks, in order."""
        return (block for section in self.sections for block in section.blocks)

    def save(self, path: str | os.PathLike[str], force: bool = False) -> Path:
        """Write the page, whole or not at all; ``force`` lets it replace a file."""
        from chainveil.table.write.atomic import drafts

        goal = Path(path)
        written = self.html().encode()
        with drafts([goal], force) as (draft,):
            draft.file.write(written)
        return goal

    def __repr__(self) -> str:
        return f"Page({self.title!r}: {', '.join(section.title for section in self.sections)})"


def _policy(scripts: list[str], style: str) -> str:
    """What a browser may do with the page: nothing but its own two scripts and its own style."""
    allowed = " ".join(_digest(text) for text in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@lru_cache(maxsize=1)
def vega() -> str:
    """The programs that draw the charts: Vega, Vega-Lite and Vega-Embed, as one script."""
    try:
        import vl_convert
    except ImportError:
        raise MissingExtra("vl-convert-python", "report", "drawing a page") from None
    # Its types ask for an argument that it does not need.
    bundled: Any = vl_convert.javascript_bundle
    bundle = str(bundled())
    # A closing tag inside a text of the script would end it.
    return _normal(bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--"))


@lru_cache(maxsize=8)
def _asset(name: str) -> str:
    """A file of the page, as browsers read it: their digests count line ends of one character."""
    return _normal((files("chainveil.report") / "templates" / name).read_text(encoding="utf-8"))


def _normal(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


@lru_cache(maxsize=1)
def _environment() -> Any:
    try:
        import jinja2
    except ImportError:
        raise MissingExtra("jinja2", "report", "making a page") from None
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_safe,
    )  # fmt: skip
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    environment.filters["as_rows"] = _as_rows
    return environment


def _safe(value: Any) -> Any:
    """Text without characters that turn the direction of reading; what is HTML already is left."""
    return value if hasattr(value, "__html__") or not isinstance(value, str) else _lines(value)


def _lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


def _as_rows(table: Table) -> list[list[list[str]]]:
    """All rows of a table for the script that turns its pages: what is read, and the value."""
    return [[[cell.shown, cell.value] for cell in row] for row in table.cells]
