"""Notebooks as pages of the site: their words, their cells, and what the cells print."""

from __future__ import annotations

import json
from typing import Any

from docutils import nodes
from myst_parser.sphinx_ import Parser
from sphinx.application import Sphinx

FENCE = "````"


def markdown(book: dict[str, Any]) -> str:
    """A notebook as Markdown."""
    return "\n\n".join(part for cell in book["cells"] for part in _parts(cell))


def _parts(cell: dict[str, Any]) -> list[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source]
    told = "".join(line for output in cell["outputs"] for line in output["text"])
    code = f"{FENCE}python\n{source}\n{FENCE}"
    return [code, f"{FENCE}text\n{told}{FENCE}"] if told else [code]


class NotebookParser(Parser):
    """Reads ``.ipynb`` files."""

    supported = ("ipynb",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """As Markdown, after the notebook was turned into it."""
        super().parse(markdown(json.loads(inputstring)), document)


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the suffix and its parser known."""
    app.add_source_suffix(".ipynb", "ipynb")
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": True}
