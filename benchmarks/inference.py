"""Smoothing and Viterbi beside hmmlearn and dynamax, in one run.

    python -m benchmarks.inference [--quick]

Every contestant computes the same thing on the same data, is called once to compile, and then
repeatedly, the contestants in turn, so that a slow moment of the machine hits all alike; each
turn is two calls, of which the second is measured. Printed: nanoseconds a point, median and
spread (from the lower to the upper quartile), how many times slower each peer is than chainveil,
and the same for the least time, which a busy machine disturbs least. Peers that are not installed
are left out. dynamax computes in float32, the others in float64.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil import Channel, MarkovChain
from chainveil.inference import smoothed, viterbi

Run = Callable[[], object]
Contest = tuple[str, int, dict[str, Run]]


def binary_model() -> tuple[MarkovChain, Channel]:
    return MarkovChain.binary(0.1, 0.15), Channel.binary(0.3, 0.25)


def random_model(k: int) -> tuple[MarkovChain, Channel]:
    rng = np.random.default_rng(k)
    return MarkovChain(rng.dirichlet(np.ones(k), k)), Channel(rng.dirichlet(np.ones(k), k))


def hmmlearn_peer(chain: MarkovChain, channel: Channel) -> Any | None:
    try:
        from hmmlearn.hmm import CategoricalHMM
    except ImportError:
        return None
    model = CategoricalHMM(chain.states, implementation="scaling")
    model.n_features = channel.outputs
    model.startprob_, model.transmat_ = chain.start, chain.transition
    model.emissionprob_ = channel.matrix
    return model


def dynamax_peer(chain: MarkovChain, channel: Channel) -> tuple[Any, Any, Any] | None:
    """``(smoother, viterbi, to device)``, compiled; batched where ``z`` has two axes."""
    try:
        import jax
        import jax.numpy as jnp
        from dynamax.hidden_markov_model.inference import hmm_posterior_mode, hmm_smoother
    except ImportError:
        return None
    start, move = jnp.array(chain.start), jnp.array(chain.transition)
    log_emission = jnp.log(jnp.array(channel.matrix.T))

    def smooth(z: Any) -> Any:
        return hmm_smoother(start, move, log_emission[z]).smoothed_probs

    def path(z: Any) -> Any:
        return hmm_posterior_mode(start, move, log_emission[z])

    def ready(function: Any) -> Any:
        one, many = jax.jit(function), jax.jit(jax.vmap(function))
        return lambda z: (one if z.ndim == 1 else many)(z).block_until_ready()

    return ready(smooth), ready(path), jnp.array


def contests(quick: bool) -> Iterator[Contest]:
    n = 10**5 if quick else 10**6
    rows = 10**4 if quick else 10**5
    rng = np.random.default_rng(0)
    long = rng.integers(0, 2, n, dtype=np.uint8)
    batch = rng.integers(0, 2, (rows, 30), dtype=np.uint8)
    yield from _both(f"two states, one series of {n:,}", *binary_model(), long)
    yield from _both(f"two states, {rows:,} series of 30", *binary_model(), batch)
    eight = rng.integers(0, 8, n, dtype=np.uint8)
    yield from _both(f"eight states, one series of {n:,}", *random_model(8), eight)


def _both(title: str, chain: MarkovChain, channel: Channel, z: NDArray[Any]) -> Iterator[Contest]:
    smoothing: dict[str, Run] = {}
    if chain.states == 2:
        smoothing["chainveil"] = lambda: smoothed(chain, channel, z, state=1)
        smoothing["chainveil, both states"] = lambda: smoothed(chain, channel, z)
    else:
        smoothing["chainveil"] = lambda: smoothed(chain, channel, z)
    paths: dict[str, Run] = {"chainveil": lambda: viterbi(chain, channel, z)}
    model = hmmlearn_peer(chain, channel)
    if model is not None:
        # hmmlearn takes milliseconds a thousand short series; a tenth of them is enough.
        part = z if z.ndim == 1 else z[: len(z) // 10]
        column = part.reshape(-1, 1).astype(np.int64)
        lengths = None if z.ndim == 1 else [z.shape[1]] * len(part)
        share = z.size / part.size
        smoothing[f"hmmlearn@{share:g}"] = lambda: model.predict_proba(column, lengths)
        paths[f"hmmlearn@{share:g}"] = lambda: model.predict(column, lengths)
    peer = dynamax_peer(chain, channel)
    if peer is not None:
        smooth, path, to_device = peer
        placed = to_device(z.astype(np.int32))
        smoothing["dynamax"] = lambda: smooth(placed)
        paths["dynamax"] = lambda: path(placed)
    yield f"smoothing, {title}", z.size, smoothing
    yield f"Viterbi, {title}", z.size, paths


def measure(runs: dict[str, Run], repeats: int) -> dict[str, NDArray[np.float64]]:
    """Seconds of every repeat; ``name@s`` did one s-th of the work."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()
    for _ in range(repeats):
        for name, run in runs.items():
            # Once more unmeasured: whoever ran before has emptied the caches and the heap.
            run()
            begin = time.perf_counter()
            run()
            share = float(name.partition("@")[2] or 1)
            taken[name].append((time.perf_counter() - begin) * share)
    return {name.partition("@")[0]: np.array(times) for name, times in taken.items()}


def report(title: str, points: int, taken: dict[str, NDArray[np.float64]]) -> None:
    print(f"\n{title}")
    own = taken["chainveil"]
    for name, times in taken.items():
        low, middle, high = np.quantile(times, [0.25, 0.5, 0.75]) / points * 1e9
        least = times.min() / points * 1e9
        ratio, best = np.median(times) / np.median(own), times.min() / own.min()
        print(
            f"  {name:24s} {middle:8.1f} ns a point ({low:.1f} to {high:.1f})  {ratio:6.1f} x"
            f"   least {least:8.1f}  {best:6.1f} x"
        )


def growth(repeats: int, quick: bool) -> None:
    """Nanoseconds a point must not grow with the length."""
    chain, channel = binary_model()
    print("\ntwo states, length and time")
    for n in (10**5, 10**6) if quick else (10**5, 10**6, 10**7):
        z = np.random.default_rng(n).integers(0, 2, n, dtype=np.uint8)
        runs: dict[str, Run] = {
            "smoothing": lambda z=z: smoothed(chain, channel, z, state=1),  # type: ignore[misc]
            "Viterbi": lambda z=z: viterbi(chain, channel, z),  # type: ignore[misc]
        }
        found = measure(runs, repeats)
        line = ", ".join(f"{k} {np.median(v) / n * 1e9:.1f} ns" for k, v in found.items())
        print(f"  n = {n:>10,}: {line} a point")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for title, points, runs in contests(arguments.quick):
        report(title, points, measure(runs, arguments.repeats))
    growth(arguments.repeats, arguments.quick)


if __name__ == "__main__":
    main()
