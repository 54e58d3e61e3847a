"""Charts as Vega-Lite, drawn with Altair: what is handed over, in one look.

Every mark carries ``told``, the text of its tooltip and of its name for screen readers. Fields
have names of ours, whatever the columns of the table are called: names of others are values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chainveil.errors import MissingExtra

# Colours that readers with any common colour blindness tell apart, and that stand out from white
# and from black alike; shapes go with them.
BLUE, RED, GREEN, PURPLE, BROWN, GREY = (
    "#2a7ec0", "#d55e00", "#0a9a73", "#b763a0", "#a0722a", "#808080",
)  # fmt: skip
CYCLE = [BLUE, RED, GREEN, PURPLE, BROWN, GREY]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]
# From little to much; the middle is seen on white and on black.
SHADES = ["#d7e7f5", "#3f83bd", "#08335c"]
# States in a stripe, from the first on: the second of two is the one that is asked about.
STATES = ["#9aa3ad", BLUE, RED, GREEN, PURPLE, BROWN]
ROW, HEIGHT = 20, 240
Rows = Sequence[dict[str, Any]]


def altair() -> Any:
    """The package, or an error that says what to install."""
    try:
        import altair
    except ImportError:
        raise MissingExtra("altair", "report", "drawing a page") from None
    return altair


def finished(chart: Any, **size: Any) -> dict[str, Any]:
    """A chart as Vega-Lite in the look of all pages, as wide as the page is."""
    # As high as its rows ask for; the width alone is fitted.
    fitted = altair().AutoSizeParams(type="fit-x", contains="padding", resize=True)
    shaped = chart.properties(width="container", autosize=fitted, **size)
    return dict(shaped.configure(**config()).to_dict(validate=False))


def config() -> dict[str, Any]:
    """Text and lines in the colour of the page, so that dark pages and paper need no other."""
    line = {"domainColor": "currentColor", "tickColor": "currentColor", "gridColor": "currentColor",
            "domainOpacity": 0.5, "tickOpacity": 0.5, "gridOpacity": 0.15}  # fmt: skip
    words = {"labelColor": "currentColor", "titleColor": "currentColor", "labelFontSize": 12,
             "titleFontSize": 12, "titleFontWeight": "normal"}  # fmt: skip
    return {
        "background": "transparent",
        "font": "system-ui, sans-serif",
        "view": {"stroke": None},
        "axis": {**line, **words, "labelLimit": 150, "labelOverlap": True},
        "axisQuantitative": {"tickCount": 6},
        "legend": {**words, "orient": "bottom", "labelLimit": 150, "columns": 3},
        "header": words,
        "range": {"category": CYCLE, "symbol": SHAPES},
    }


def _told(name: str = "told") -> dict[str, Any]:
    alt = altair()
    return {"tooltip": alt.Tooltip(f"{name}:N"), "description": alt.Description(f"{name}:N")}


def _hue(kinds: list[Any], **words: Any) -> dict[str, Any]:
    scale = altair().Scale(domain=kinds)
    return {"color": altair().Color("of:N", title=None, scale=scale, **words)}


def _shape(kinds: list[Any]) -> dict[str, Any]:
    """Shape and colour, which share one legend."""
    alt = altair()
    scale = alt.Scale(domain=kinds)
    return {"shape": alt.Shape("of:N", title=None, scale=scale)} | _hue(kinds)


def _apart(layers: Any) -> Any:
    """Each layer with a scale of colours of its own, so that the last alone has the legend."""
    return layers.resolve_scale(color="independent", shape="independent")


def intervals(rows: Rows, value: str, domain: tuple[float, float] | None = None) -> dict[str, Any]:
    """Estimates with their intervals, one line a name, in the order given.

    ``rows``: ``name``, ``value``, ``low``, ``high``, ``told`` and, where there are several, ``of``:
    what is estimated. A limit that is infinite ends at the edge of ``domain``.
    """
    alt = altair()
    kinds = list(dict.fromkeys(row.get("of") for row in rows))
    several = len(kinds)
    scale = alt.Scale(domain=list(domain), clamp=True) if domain else alt.Scale(zero=False)
    names = list(dict.fromkeys(row["name"] for row in rows))
    base = alt.Chart(alt.Data(values=list(rows))).encode(
        y=alt.Y("name:N", title=None, sort=names), **_told()
    )
    apart = {"yOffset": alt.YOffset("of:N", sort=kinds)} | _hue(kinds, legend=None)
    shape = _shape(kinds)
    lines = base.mark_rule(strokeWidth=2, color=BLUE, aria=False).encode(
        x=alt.X("low:Q", title=value, scale=scale), x2="high:Q", **(apart if several > 1 else {})
    )
    points = base.mark_point(filled=True, size=60, color=BLUE, opacity=1).encode(
        x=alt.X("value:Q", scale=scale), **({**apart, **shape} if several > 1 else {})
    )
    # Lines of one name lie closer together than names do.
    return finished(_apart(lines + points), height=len(names) * (ROW + 12 * (several - 1)))


def curve(rows: Rows, x: str, y: str, domain: tuple[float, float] | None = None) -> dict[str, Any]:
    """Estimates along a scale, with their intervals as a band.

    ``rows``: ``at``, ``value``, ``low``, ``high``, ``told`` and, where there are several, ``of``.
    """
    alt = altair()
    kinds = list(dict.fromkeys(row.get("of") for row in rows))
    several = len(kinds) > 1
    scale = alt.Scale(domain=list(domain), clamp=True) if domain else alt.Scale(zero=False)
    base = alt.Chart(alt.Data(values=list(rows))).encode(
        x=alt.X("at:Q", title=x, scale=alt.Scale(zero=False, nice=False)),
        **(_hue(kinds, legend=None) if several else {}),
    )
    band = base.mark_area(opacity=0.2, color=BLUE, aria=False).encode(
        y=alt.Y("low:Q", title=y, scale=scale), y2="high:Q"
    )
    line = base.mark_line(color=BLUE, aria=False).encode(y=alt.Y("value:Q", scale=scale))
    # One legend, that of the points.
    shape = _shape(kinds) if several else {}
    points = base.mark_point(filled=True, size=50, color=BLUE, opacity=1).encode(
        y=alt.Y("value:Q", scale=scale), **shape, **_told()
    )
    return finished(_apart(band + line + points), height=HEIGHT)


def bars(rows: Rows, value: str, limits: Rows = ()) -> dict[str, Any]:
    """Numbers beside each other, a bar a name; ``limits`` (``value``, ``told``): lines across."""
    alt = altair()
    names = [row["name"] for row in rows]
    drawn = alt.Chart(alt.Data(values=list(rows))).mark_bar(color=BLUE, height=ROW * 0.6)
    chart = drawn.encode(
        x=alt.X("value:Q", title=value), y=alt.Y("name:N", title=None, sort=names), **_told()
    )
    if limits:
        line = alt.Chart(alt.Data(values=list(limits)))
        line = line.mark_rule(color=RED, strokeWidth=2, strokeDash=[6, 3])
        chart = chart + line.encode(x="value:Q", **_told())
    return finished(chart, height=len(names) * ROW)


def squares(rows: Rows, x: str, y: str, value: str) -> dict[str, Any]:
    """A matrix of shares between 0 and 1: ``row``, ``column``, ``value``, ``shown``, ``told``."""
    alt = altair()
    columns = list(dict.fromkeys(row["column"] for row in rows))
    lines = list(dict.fromkeys(row["row"] for row in rows))
    base = alt.Chart(alt.Data(values=list(rows))).encode(
        x=alt.X("column:N", title=x, sort=columns, axis=alt.Axis(labelAngle=0, orient="top")),
        y=alt.Y("row:N", title=y, sort=lines),
    )
    scale = alt.Scale(domain=[0, 0.5, 1], range=SHADES)
    boxes = base.mark_rect().encode(
        color=alt.Color("value:Q", title=value, scale=scale, legend=None), **_told()
    )
    dark = alt.condition("datum.value > 0.55", alt.value("white"), alt.value("#111111"))
    words = base.mark_text(fontSize=12, aria=False).encode(text="shown:N", color=dark, **_told())
    return finished(boxes + words, height=len(lines) * 30)


def strips(rows: Rows, x: str, states: Sequence[str]) -> dict[str, Any]:
    """Series as stripes: ``name``, ``begin``, ``end``, ``state``, ``told``; one stripe a name."""
    alt = altair()
    names = list(dict.fromkeys(row["name"] for row in rows))
    scale = alt.Scale(domain=list(states), range=STATES[: len(states)])
    chart = alt.Chart(alt.Data(values=list(rows))).mark_rect().encode(
        x=alt.X("begin:Q", title=x, scale=alt.Scale(nice=False, zero=False)),
        x2="end:Q",
        y=alt.Y("name:N", title=None, sort=names, scale=alt.Scale(paddingInner=0.3)),
        color=alt.Color("state:N", title=None, scale=scale),
        **_told(),
    )  # fmt: skip
    return finished(chart, height=len(names) * (ROW + 8))
