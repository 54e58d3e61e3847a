"""The examples of docs/extending.md, installed as a package of its own: all that it claims."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.attack import Posterior, Viterbi
from chainveil.mechanism import Stream, register_sampler, samplers, sanitize, seeded
from chainveil.mechanism.kernel_walk import KernelWalk
from chainveil.privacy import engines
from chainveil.privacy.result import PrivacyLoss
from tests.extending import page

CHAIN = cv.MarkovChain.binary(0.1, 0.2)


def enumerated(law: Any, noise: Any, n: int) -> float:
    """The loss against any adversary, series by series and output by output."""
    first, step = noise.first_law(), noise.step_law()
    joint = np.zeros((2,) * n + (2**n,))
    for x in np.ndindex(*(2,) * n):
        for number, z in enumerate(np.ndindex(*(2,) * n)):
            chance = law[x] * first[x[0], z[0]]
            for t in range(1, n):
                chance *= step[z[t - 1], x[t - 1], x[t], z[t]]
            joint[(*x, number)] = chance
    worst = 0.0
    for fixed in range(1, 2**n):
        axes = [t for t in range(n) if fixed >> t & 1]
        free = tuple(t for t in range(n) if t not in axes)
        seen = joint.sum(axis=free)
        ratio = seen / seen.sum(axis=-1, keepdims=True)
        for axis in range(len(axes)):
            zero, one = np.take(ratio, 0, axis), np.take(ratio, 1, axis)
            worst = max(worst, float(np.abs(np.log(zero / one)).max()))
    return worst


def test_what_the_page_does_with_its_modules(repeating: Any, seasonal: Any) -> None:
    names: dict[str, Any] = {}
    for code in page.steps():
        exec(code, names)
    assert names["plan"].loss.epsilon <= 2.0
    assert names["release"].shape == (1000,)


def test_the_loss_is_that_of_the_definition(repeating: Any, seasonal: Any) -> None:
    noise = repeating.RepeatingNoise.make(0.3, 0.2)
    loss = cv.privacy_loss(CHAIN, noise, length=4)
    assert loss.epsilon == pytest.approx(enumerated(CHAIN.series_law(4), noise, 4), abs=1e-9)
    assert loss.witness is not None
    assert loss.witness.replay(CHAIN, noise) == pytest.approx(loss.lower)
    model, channel = seasonal.SeasonalChain(0.1, 0.4), cv.Channel.binary(0.2, 0.3)
    loss = cv.privacy_loss(model, channel, length=4)
    assert loss.epsilon == pytest.approx(enumerated(model.series_law(4), channel, 4), abs=1e-9)
    with pytest.raises(cv.NotSupported, match="a few points are enumerated"):
        cv.privacy_loss(model, noise)


def test_the_loss_on_two_states_holds_for_every_length(repeating: Any) -> None:
    noise = repeating.RepeatingNoise.make(0.3, 0.2)
    longest = cv.privacy_loss(CHAIN, noise)
    shorter = [cv.privacy_loss(CHAIN, noise, length=length).epsilon for length in (2, 4, 8, 16)]
    assert shorter == sorted(shorter)
    assert shorter[-1] <= longest.epsilon
    assert longest.witness is not None
    assert longest.witness.replay(CHAIN, noise) == pytest.approx(longest.epsilon)


def test_calibrated_noise_keeps_the_budget(repeating: Any, seasonal: Any) -> None:
    plan = cv.calibrate(CHAIN, 2.0, max_length=4, mechanism="repeating")
    assert 1.99 < enumerated(CHAIN.series_law(4), plan.noise, 4) <= 2.0
    assert isinstance(plan.noise, repeating.RepeatingNoise)
    # Noise that repeats half of the time is sticky noise, and independent noise is not.
    sticky = cv.calibrate(CHAIN, 2.0, max_length=4, mechanism="sticky")
    assert sticky.expected_flips <= plan.expected_flips + 1e-4
    model = seasonal.SeasonalChain(0.1, 0.4)
    plan = cv.calibrate(model, 2.0, max_length=4)
    assert 1.99 < enumerated(model.series_law(4), plan.noise, 4) <= 2.0
    assert "repeat the last report" in str(
        cv.calibrate(CHAIN, 2.0, max_length=4, mechanism="repeating")
    )


def test_reports_follow_the_kernel_in_arrays_and_streams(repeating: Any) -> None:
    """Each share of 200,000 reports within 5 standard errors: false alarms below 1 in 100,000."""
    noise = repeating.RepeatingNoise.make(0.3, 0.2)
    x = CHAIN.sample(200_000, rng=1)
    z = sanitize(x, noise, rng=seeded(2))
    step = noise.step_law()
    for last, before, now in np.ndindex(2, 2, 2):
        here = (z[:-1] == last) & (x[:-1] == before) & (x[1:] == now)
        share, error = z[1:][here].mean(), 0.5 / np.sqrt(here.sum())
        assert abs(share - step[last, before, now, 1]) < 5 * error
    stream = Stream(noise, seeded(2))
    parts = [stream.push(x[:1000]), np.array([stream.push(int(v)) for v in x[1000:1100]])]
    again = Stream.restore(json.loads(json.dumps(stream.save())))
    parts.append(again.push(x[1100:5000]))
    assert np.array_equal(np.concatenate(parts), z[:5000])
    rows = sanitize(x.reshape(-1, 1000), noise, rng=seeded(2))
    assert np.array_equal(rows[0], z[:1000])


def test_smoothing_and_attacks_know_the_memory(repeating: Any, seasonal: Any) -> None:
    noise = repeating.RepeatingNoise.make(0.3, 0.2)
    z = np.array([0, 1, 1, 0])
    law, first, step = CHAIN.series_law(4), noise.first_law(), noise.step_law()
    weights = np.array(law)
    for x in np.ndindex(2, 2, 2, 2):
        weights[x] *= first[x[0], z[0]]
        for t in range(1, 4):
            weights[x] *= step[z[t - 1], x[t - 1], x[t], z[t]]
    posterior = Posterior(CHAIN, noise).probabilities(z)
    for t in range(4):
        others = tuple(s for s in range(4) if s != t)
        assert posterior[t] == pytest.approx(weights.sum(axis=others) / weights.sum())
    path = Viterbi(CHAIN, noise).reconstruct(z)
    assert weights[tuple(path)] == weights.max()
    model = seasonal.SeasonalChain(0.1, 0.4)
    found = cv.estimate.denoise(z, cv.Channel.binary(0.2, 0.2), model)
    assert found.probability.shape == (4, 2)


# Several commands in one process, which knows the installed kinds as a process of each would.
COMMANDS = """
import json, sys
from chainveil.cli import run

codes = [run(command) for command in json.load(sys.stdin)]
print(json.dumps(codes), file=sys.stderr)
"""


def run(folder: Path, *commands: list[str]) -> tuple[list[int], str]:
    """The exit codes of the commands, and all that they told."""
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS], input=json.dumps(commands),
        capture_output=True, text=True, env=environment, check=True,
    )  # fmt: skip
    return json.loads(done.stderr.splitlines()[-1]), done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["repeating"])
def test_plans_and_releases_verify_on_the_command_line(
    installed: Path, tmp_path: Path, name: str
) -> None:
    plan, release = tmp_path / "plan.json", tmp_path / "release.csv"
    chain = ["--q", "0.1", "--r", "0.2", "--epsilon", "2", "--length", "4"]
    table = tmp_path / "table.csv"
    states = CHAIN.sample(4, 50, rng=3)
    lines = [f"{person},{x}\n" for person, row in enumerate(states) for x in row]
    table.write_text("person,x\n" + "".join(lines))
    codes, told = run(
        installed,
        ["calibrate", *chain, "--mechanism", name, "-o", str(plan)],
        ["verify", str(plan)],
        ["sanitize", str(table), "--column", "x", "--series", "person", "--states", "0,1",
         "--plan", str(plan), "-o", str(release)],
        ["verify", str(tmp_path / "release.certificate.json"), str(release)],
    )  # fmt: skip
    assert codes[0] == codes[2] == codes[3] == 0, told
    assert codes[1] in (0, 4), told


def test_an_unknown_mechanism_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    codes, told = run(
        tmp_path,
        ["calibrate", "--q", "0.1", "--r", "0.1", "--epsilon", "2", "--mechanism", "corelated"],
    )
    assert codes == [2]
    assert "Did you mean 'correlated'?" in told


def test_a_model_in_a_certificate(seasonal: Any) -> None:
    plan = cv.calibrate(seasonal.SeasonalChain(0.1, 0.4), 2.0, max_length=4)
    certificate = cv.Certificate.from_json(plan.certificate().to_json())
    assert cv.verify(certificate).holds
    assert certificate.plan().chain == plan.chain


def test_an_engine_of_ones_own_answers(repeating: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_ENGINES", list(engines._ENGINES))
    noise = repeating.RepeatingNoise.make(0.3, 0.2)

    def bound(problem: Any) -> PrivacyLoss:
        return PrivacyLoss(math.inf, 0.0, None, problem.adversary, problem.length)

    engines.register_engine(engines.Engine(lambda problem: problem.length is None, bound))
    assert cv.privacy_loss(CHAIN, noise).epsilon == math.inf
    assert cv.privacy_loss(CHAIN, noise, length=3).epsilon < math.inf


def test_a_sampler_of_ones_own_draws(repeating: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samplers, "_SAMPLERS", dict(samplers._SAMPLERS))
    noise, x = repeating.RepeatingNoise.make(0.3, 0.2), CHAIN.sample(500, rng=1)
    made = []

    def make(noise: Any, source: Any, draws: Any) -> KernelWalk:
        made.append(noise.kind)
        return KernelWalk(noise, source, draws)

    expected = sanitize(x, noise, rng=seeded(2))
    register_sampler("repeating", make)
    assert np.array_equal(sanitize(x, noise, rng=seeded(2)), expected)
    assert made == ["repeating"]
