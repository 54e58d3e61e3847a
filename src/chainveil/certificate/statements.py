"""The sentences a certificate repeats word for word, so that a changed one can be told."""

from __future__ import annotations

from chainveil.privacy.problem import Unit

SCHEMA = "chainveil certificate"
SCHEMA_VERSION = 1

POINT = "the value of one point of one series"


def protected(unit: Unit) -> str:
    """The unit of privacy in words."""
    return (
        POINT if unit == "point" else f"the values of any {unit} consecutive points of one series"
    )


UNPROTECTED = (
    "that a series exists, how long it is, and where it has gaps",
    "the overall level of a series: its share of each state can be estimated",
    "what several series that depend on each other say about one another",
    "what other published columns say about the series: they are tested before the release, on "
    "a sample, and those under allowed_leaks are not",
    "data that do not follow the chain above: the bound is computed for that chain",
)

TIME_FORMS = ("as it was", "positions", "rounded down to ")

ORIGIN = {
    "given": "the chain was given by hand, as public knowledge",
    "reference": "the chain was fitted on a separate reference table, which is taken to be public",
    "private": (
        "the chain was fitted on the private data and then rounded, so that no count of the data "
        "follows from what is published of it; the loss holds for every chain of the region, or "
        "for the rounded chain where there is no region; what the rounded figures say about the "
        "data as a whole is not covered by epsilon"
    ),
}

EDGES_ORIGIN = {
    "given": "the limits between states were given by hand",
    "private mean": (
        "the limit between states is the mean of the private data; it is published here "
        "without noise and is not covered by epsilon"
    ),
    "private median": (
        "the limit between states is the median of the private data; it is published here "
        "without noise and is not covered by epsilon"
    ),
}

RANDOMNESS = {
    "release": "keys from the operating system, used once; fit for publication",
    "study": "a seed: whoever knows it can take the noise away; not for publication",
}

CANNOT_BE_CHECKED = (
    "that the noise was drawn as described, from the randomness named",
    "where the chain and the limits between states came from",
    "that the private data follow the chain",
    "what was minimised when the noise was chosen",
    "what other published columns give away: they were tested on the private data",
    "who made this certificate and when: the seal is a checksum, not a signature",
)
