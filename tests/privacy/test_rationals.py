"""Entries of noise as exact numbers."""

from __future__ import annotations

from fractions import Fraction

import chainveil as cv
from chainveil.privacy.rationals import channel_entries


def test_the_smaller_entry_of_a_row_is_the_one_that_counts() -> None:
    tiny = 5.4535578769025557e-11
    channel = cv.Channel([[tiny, 1 - tiny], [0.25, 0.75]])
    zero, one = channel_entries(channel)
    assert zero == [Fraction(tiny), 1 - Fraction(tiny)]
    # Off by a millionth, as a float next to one is rounded.
    assert zero[0] != 1 - Fraction(float(channel.matrix[0, 1]))
    assert one == [Fraction(1, 4), Fraction(3, 4)]


def test_flips_from_a_half_on_are_read_as_they_were_given() -> None:
    zero, one = channel_entries(cv.Channel.binary(0.7, 0.9))
    assert (zero[1], one[0]) == (Fraction(0.7), Fraction(0.9))
