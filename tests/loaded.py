"""Imported by the process that others are forked from: losses of every kind load what it needs."""

from __future__ import annotations

import chainveil as cv

TWO, NOISE = cv.MarkovChain.binary(0.1, 0.2), cv.Channel.binary(0.4, 0.4)
THREE = cv.MarkovChain([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
LONGER = cv.HigherOrderChain.from_json(
    {"transition": [[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]]}
)
cv.privacy_loss(TWO, NOISE.thinned(2), length=4)
cv.privacy_loss(TWO, cv.CorrelatedNoise(0.4, 0.4), length=4)
cv.privacy_loss(cv.ChainRegion((0.09, 0.11), (0.18, 0.22)), NOISE, length=4)
cv.privacy_loss(THREE, cv.Channel.randomized_response(3, 0.5), length=2)
cv.privacy_loss(LONGER, NOISE, length=3)
