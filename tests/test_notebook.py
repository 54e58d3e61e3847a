"""What notebooks show of results: short, escaped, with the figure that matters."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import chainveil as cv
from chainveil import notebook
from chainveil.mechanism import seeded

HOSTILE = "<script>alert('x')</script>&amp;"
CHAIN = cv.MarkovChain.binary(q=0.1, r=0.2)


class _Reader(HTMLParser):
    """Elements in their order, whether each is closed, and the text between them."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(html: str) -> str:
    """The text of a card; an error unless it is well formed and harmless."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open
    allowed = {"div", "strong", "small", "table", "thead", "tbody", "tr", "th", "td"}
    assert reader.seen <= allowed
    return " ".join(reader.text)


@pytest.fixture(scope="module")
def plan() -> Any:
    return cv.calibrate(CHAIN, epsilon=3.0)


@pytest.fixture(scope="module")
def release(plan: Any) -> Any:
    series = CHAIN.sample(2000, rng=1)
    frame = pd.DataFrame({HOSTILE: series, "person": [HOSTILE] * 1000 + ["b"] * 1000})
    return cv.sanitize_table(frame, HOSTILE, plan=plan, series="person", rng=seeded(2))


def test_texts_are_escaped_and_cut() -> None:
    html = notebook.card(HOSTILE, [(HOSTILE, HOSTILE)], HOSTILE, notebook.grid([HOSTILE], [["x"]]))
    assert read(html).count(HOSTILE) == 5
    long = notebook.card("t", [("n", "x" * 10_000)])
    assert len(long) < 1000
    assert "xx…" in read(long)


def test_a_table_says_how_many_rows_it_leaves_out() -> None:
    text = read(notebook.grid(["number"], [[i] for i in range(5000)]))
    assert "… 4,988 more rows" in text
    assert "more" not in read(notebook.grid(["number"], [[1]]))


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (CHAIN, ["0.6667, 0.3333", "after", "0.9", "0.2", "given by hand"]),
        (cv.HigherOrderChain([[0.9, 0.1], [0.5, 0.5], [0.4, 0.6], [0.2, 0.8]], order=2),
         ["order 2", "0 1", "0.6"]),
        (cv.ChainRegion(q=(0.09, 0.11), r=(0.18, 0.22)), ["0.09 to 0.11", "0.18 to 0.22"]),
        (cv.MarkovChain(np.full((20, 20), 0.05)), ["20 states", "0.05, …"]),
    ],
)  # fmt: skip
def test_models(model: Any, told: list[str]) -> None:
    text = read(model._repr_html_())
    assert all(words in text for words in told)


def test_a_chain_fitted_on_private_data_says_so() -> None:
    fitted = cv.MarkovChain.fit(CHAIN.sample(1000, rng=3))
    assert "not to be published as it is" in read(fitted._repr_html_())
    assert "not to be published" not in read(CHAIN._repr_html_())


def test_plan_and_loss_round_up(plan: Any) -> None:
    noise = cv.Channel.binary(0.3, 0.3)
    loss = cv.privacy_loss(CHAIN, noise)
    text = read(loss._repr_html_())
    high = float(text.split("epsilon at most ")[1].split()[0])
    low = float(text.split("at least ")[1].split(",")[0])
    assert loss.epsilon <= high < loss.epsilon + 1e-4
    assert loss.lower - 1e-4 < low <= loss.lower
    told = read(plan._repr_html_())
    assert f"{plan.expected_flips:.2%} of the points" in told
    assert "of epsilon 3" in told


def test_release_certificate_and_verification(release: Any) -> None:
    text = read(release._repr_html_())
    assert HOSTILE in text
    assert "2,000 in 2 series" in text
    assert "not for publication" in text
    assert "epsilon 3" in read(release.certificate._repr_html_())
    assert len(repr(release.certificate)) < 200
    found = cv.verify(release.certificate, release.table)
    assert found.verdict in read(found._repr_html_())
    false = cv.verify(release.certificate, release.table.iloc[::-1])
    assert "FAILS" in read(false._repr_html_())


def test_estimates_show_each_answer_once_with_its_interval(release: Any, plan: Any) -> None:
    values = release.table[HOSTILE].to_numpy()
    by = release.table["person"].to_numpy()
    answers = (
        cv.estimate.frequency(values, plan, by=by),
        cv.estimate.transitions(values, plan),
        cv.estimate.durations(values, plan),
        cv.estimate.autocorrelation(values, plan, [1, 2]),
        cv.estimate.pairs(values, plan),
    )
    for found in answers:
        text = read(found._repr_html_())
        assert type(found).__name__ in text
        assert found.meaning in text
    shares = answers[0].to_frame()
    first = shares[(shares.group == HOSTILE) & (shares.state == 1)].iloc[0]
    assert f"{first.low:.4g} to {first.high:.4g}" in read(answers[0]._repr_html_())


def test_an_audit_shows_its_bound_and_what_it_is_not(plan: Any) -> None:
    found = cv.attack.audit_sanitizer(
        lambda x: plan.sanitize(x, rng=seeded(4)), CHAIN, plan.noise, length=3, trials=4000, rng=5,
        nominal=3.0,
    )  # fmt: skip
    text = read(found._repr_html_())
    assert float(text.split("epsilon at least ")[1].split()[0]) <= found.lower_bound
    assert "confirms none" in text


@pytest.mark.parametrize("shape", ["one", "column", "rows", "list", "gaps"])
def test_denoised_series_have_a_frame_a_figure_and_a_short_text(plan: Any, shape: str) -> None:
    z = plan.sanitize(CHAIN.sample(60, rng=6), rng=seeded(7))
    masked = np.ma.array(z, mask=np.arange(60) % 20 == 5)
    given = {"one": z, "column": z.reshape(-1, 1), "rows": z.reshape(3, 20),
             "list": [z[:10], z[10:]], "gaps": masked}[shape]  # fmt: skip
    found = cv.estimate.denoise(given, plan, CHAIN)
    frame = found.to_frame("polars", labels=["low", "high"])
    assert isinstance(frame, pl.DataFrame)
    assert len(frame) == 57 if shape == "gaps" else 60
    assert frame["series"].n_unique() == {"rows": 3, "list": 2}.get(shape, 1)
    assert frame.columns[2:] == ["likeliest", "probability of low", "probability of high"]
    np.testing.assert_allclose(frame["probability of low"] + frame["probability of high"], 1)
    assert len(repr(found)) < 900
    assert f"{len(frame)} points" in read(found._repr_html_())
    assert len(found.plot().axes) == frame["series"].n_unique()


def test_results_have_a_short_repr(release: Any, plan: Any) -> None:
    found = cv.verify(release.certificate, release.table)
    expected = cv.estimate.error_at(plan, 1000)
    for result in (plan, found, expected, release, release.certificate, plan.loss):
        assert len(repr(result)) < 400, repr(result)
    assert found.verdict in repr(found)
    assert "of 3" in repr(plan)
    assert "1,000 points" in repr(expected)
    assert expected.to_frame("polars")["standard_error"].max() == expected.largest
