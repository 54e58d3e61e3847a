"""The directive ``public-names``: every public name of a module, by autodoc.

What a module lists in ``__all__`` is on the page, so that no name can be forgotten. Names that
the package itself offers are described once, on its own page.
"""

from __future__ import annotations

import importlib
import inspect
from types import ModuleType
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

PACKAGE = "chainveil"


def names(module: str) -> list[str]:
    """The public names of a module that have no better place."""
    found = importlib.import_module(module)
    package = importlib.import_module(PACKAGE)
    here = [name for name in found.__all__ if not isinstance(getattr(found, name), ModuleType)]
    if module == PACKAGE:
        return here
    return [n for n in here if getattr(package, n, None) is not getattr(found, n)]


def lines(module: str, name: str) -> list[str]:
    """What autodoc is told about one name."""
    thing = getattr(importlib.import_module(module), name)
    path = f"{module}.{name}"
    if inspect.isclass(thing):
        # What errors inherit is Python's own.
        more = [] if issubclass(thing, Exception) else ["   :inherited-members:"]
        return [f".. autoclass:: {path}", "   :members:", *more, ""]
    return [f".. auto{'function' if callable(thing) else 'data'}:: {path}", ""]


class PublicNames(SphinxDirective):
    """``.. public-names:: chainveil.mechanism``."""

    required_arguments = 1

    def run(self) -> list[Any]:
        """The descriptions, one after the other."""
        module = self.arguments[0]
        text = [line for name in names(module) for line in lines(module, name)]
        holder = nodes.section()
        holder.document = self.state.document
        self.state.nested_parse(StringList(text, source=module), 0, holder)
        return list(holder.children)


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the directive known."""
    app.add_directive("public-names", PublicNames)
    return {"parallel_read_safe": True}
