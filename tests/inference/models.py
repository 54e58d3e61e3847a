"""Random chains and channels for the tests of inference and attack."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil import Channel, MarkovChain


def random_model(rng: np.random.Generator, k: int, m: int) -> tuple[MarkovChain, Channel]:
    """A chain on k states that favours staying, and a channel to m outputs."""
    transition = rng.dirichlet(np.ones(k), k) + 0.5 * np.eye(k)
    transition /= transition.sum(axis=1, keepdims=True)
    start = rng.dirichlet(np.ones(k))
    return MarkovChain(transition, start), Channel(rng.dirichlet(np.ones(m), k))


def hmmlearn_model(chain: MarkovChain, channel: Channel, implementation: str = "log") -> Any:
    """The same model in hmmlearn."""
    from hmmlearn.hmm import CategoricalHMM

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = CategoricalHMM(chain.states, implementation=implementation)
    model.n_features = channel.outputs
    model.startprob_, model.transmat_ = chain.start, chain.transition
    model.emissionprob_ = channel.matrix
    return model


def path_score(chain: MarkovChain, channel: Channel, path: NDArray[Any], z: NDArray[Any]) -> float:
    """``log Pr[path, z]``."""
    with np.errstate(divide="ignore"):
        steps = np.log(chain.transition)[path[:-1], path[1:]].sum()
        noise = np.log(channel.matrix)[path, z].sum()
        return float(np.log(chain.start[path[0]]) + steps + noise)
