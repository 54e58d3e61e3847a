"""Results as pages: one HTML file each, which needs no network. Computes nothing.

Needs the extra ``report`` (Altair, vl-convert and Jinja2), imported when a page is made. A page
is a :class:`Page` of sections, each a title and blocks (``blocks.py``: ``Text``, ``Facts``,
``Bullets``, ``Code``, ``Table``, ``Figure``); the charts of figures are made by ``charts.py``, and
``page.py`` writes all of it with ``templates/``.
"""

from __future__ import annotations

from chainveil.report.blocks import (
    Bullets,
    Code,
    Column,
    Facts,
    Figure,
    Section,
    Table,
    Text,
    number,
    short,
)
from chainveil.report.page import Page

__all__ = [
    "Bullets",
    "Code",
    "Column",
    "Facts",
    "Figure",
    "Page",
    "Section",
    "Table",
    "Text",
    "number",
    "short",
]
