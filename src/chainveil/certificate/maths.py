"""Chain, noise, loss and witness of a certificate, computed from its own contents.

A certificate holds when the loss it claims is an upper bound: when what is computed here does
not exceed it by more than rounding. Machines differ in the last bits, and a search in how
close it comes, so nothing is compared to the last bit, and a claim may be looser than need be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from chainveil.certificate import questions, work
from chainveil.certificate.document import Certificate
from chainveil.certificate.make import (
    adversary_section,
    exact_chain,
    units,
)
from chainveil.certificate.questions import Claim
from chainveil.certificate.results import Check
from chainveil.errors import ChainveilError, InvalidInput, TooLarge
from chainveil.plan import NoisePlan
from chainveil.privacy.result import PrivacyLoss

# How far a loss may come out above the one claimed: the accuracy with which losses of two
# states are stated, as a share of the loss, and one in nats for losses near zero.
SHARE, LEAST = 1e-9, 1e-11
# The same, in nats, where bounds are only brought close: more than two states, or a longer
# memory; regions.
MANY_STATES, REGIONS = 2e-7, 1e-6
# A mean of a few products, in whatever order a machine adds them.
MEAN = 1e-12


def plan_of(certificate: Certificate) -> NoisePlan:
    """The plan in a certificate, with the loss computed from chain and noise.

    A loss that comes out above the budget, by no more than rounding, raises the budget: what
    is said of a plan must hold where it is said.
    """
    found = work.loss(questions.ask(certificate))
    asked = questions.claim(questions.ask(certificate))
    epsilon = float(certificate["promise.epsilon"])
    if found.epsilon > epsilon + rounding(asked, epsilon):
        raise InvalidInput(
            "certificate", f"a loss of {found.epsilon!r}", f"at most epsilon, {epsilon!r}"
        )
    return NoisePlan(
        asked.model.of_origin(certificate["chain.origin"]), asked.noise, found,
        max(epsilon, found.epsilon), certificate["noise.objective"], None, asked.earlier,
        asked.unit, asked.gaps,
    )  # fmt: skip


def loss_of(certificate: Certificate) -> PrivacyLoss:
    """The loss of what a certificate describes, computed from its chain and noise."""
    return work.loss(questions.ask(certificate))


def rounding(asked: Claim, loss: float) -> float:
    """By how much a loss that is computed may exceed the one that is claimed."""
    if not asked.model.single:
        return REGIONS
    searched = asked.model.states > 2 or asked.model.order != 1
    return MANY_STATES if searched else max(SHARE * loss, LEAST)


def maths(certificate: Certificate) -> Iterator[Check]:
    """Chain, noise, loss and witness, computed with the library.

    A check of the loss that is "open" was too large to make.
    """
    try:
        asked = questions.claim(questions.ask(certificate))
        yield from _described(certificate, asked)
        yield from _losses(certificate, asked)
    except TooLarge as error:
        yield Check("loss.epsilon", "open", str(error))
    except ChainveilError as error:
        yield Check("loss", "fails", f"cannot be computed: {error}")


def _described(certificate: Certificate, asked: Claim) -> Iterator[Check]:
    """What needs no search: the numbers fit each other."""
    flips = asked.noise.expected_flips(asked.chain)
    yield _chain_entries(certificate, asked)
    yield _realised(certificate, asked)
    yield _realised_before(certificate, asked)
    claimed = float(certificate["noise.expected_flips"])
    near = math.isclose(claimed, flips, rel_tol=MEAN, abs_tol=0.0)
    text = f"{flips!r}, computed again" if near else f"claimed {claimed!r}, computed {flips!r}"
    yield check_line("noise.expected_flips", near, text)
    same = certificate["promise.adversary"] == adversary_section(asked.adversary)
    yield check_line("promise.adversary", same, "as described" if same else "is not as described")


def _chain_entries(certificate: Certificate, asked: Claim) -> Check:
    start, entries, _ = asked.chain.hidden_chain()
    same = certificate["chain.transition"] == entries.tolist()
    text = f"{asked.model.states} states" if same else "not the transitions of the model"
    if certificate.model is not None:
        same = same and certificate["chain.initial"] == start.tolist()
        same = same and set(certificate.model[1]) <= set(asked.model.to_json())
    elif asked.model.states == 2:
        same = certificate["chain.transition"] == exact_chain(asked.chain).transition.tolist()
        text = "2 states" if same else "the diagonal is not what is left of one"
    return check_line("chain", same, text)


def _realised(certificate: Certificate, asked: Claim) -> Check:
    matrix = asked.noise.on_grid().to_matrix()
    sound = certificate["noise.matrix"] == matrix and certificate["noise.units"] == units(matrix)
    sound = sound and all(sum(row) == 1 << 53 for row in units(matrix))
    text = "multiples of 2^-53, realised exactly" if sound else "matrix and units disagree"
    return check_line("noise", sound, text)


def _realised_before(certificate: Certificate, asked: Claim) -> Check:
    realised = [earlier.on_grid().to_json() for earlier in asked.earlier]
    sound = certificate["noise.earlier"] == realised
    text = f"{len(asked.earlier)} earlier releases, their noise on multiples of 2^-53"
    return check_line("noise.earlier", sound, text if sound else "not what could be realised")


def _losses(certificate: Certificate, asked: Claim) -> Iterator[Check]:
    claimed, budget = float(certificate["loss.epsilon"]), float(certificate["promise.epsilon"])
    within = claimed <= budget
    text = f"the loss {claimed!r} is {'within' if within else 'above'} {budget!r}"
    yield check_line("promise.epsilon", within, text)
    found = work.loss(questions.ask(certificate))
    slack = rounding(asked, claimed)
    yield _upper(found, claimed, slack)
    yield from _witness(certificate, asked, found, slack)


def _upper(found: PrivacyLoss, claimed: float, slack: float) -> Check:
    """Whether the loss claimed is an upper bound."""
    if found.epsilon <= claimed:
        looser = "" if found.epsilon > claimed - slack else ", which is less: the claim is looser"
        text = f"at most {claimed!r}; computed {found.epsilon!r}{looser}"
        return Check("loss.epsilon", "holds", text)
    if found.epsilon <= claimed + slack:
        text = f"at most {claimed!r}; computed {found.epsilon!r}, within rounding of {slack:.3g}"
        return Check("loss.epsilon", "holds", text)
    return Check("loss.epsilon", "fails", f"claimed {claimed!r}, computed {found.epsilon!r}")


def _witness(
    certificate: Certificate, asked: Claim, found: PrivacyLoss, slack: float
) -> Iterator[Check]:
    """Whether the lower bound is one: what the witness attains, and not above the loss."""
    lower = float(certificate["loss.lower"])
    below = lower <= min(found.epsilon + slack, float(certificate["loss.epsilon"]))
    text = f"{lower!r} is {'not ' if below else ''}above the loss"
    yield check_line("loss.lower", below, text)
    if certificate["loss.witness"] is None:
        text = "none, and none is claimed" if lower == 0 else "missing"
        yield check_line("loss.witness", lower == 0, text)
        return
    try:
        # Over a region the attack is one on its worst chain, over a family on one it names.
        chain = found.chain if found.member is None and found.chain is not None else asked.chain
        questions.attacked(certificate, asked.model)
        attained = work.replay(questions.ask_to_replay(certificate, chain))
    except TooLarge as error:
        yield Check("loss.witness", "open", str(error))
        return
    except ChainveilError as error:
        yield Check("loss.witness", "fails", f"cannot be replayed: {error}")
        return
    reaches = attained >= lower - slack
    text = f"attains {'' if reaches else 'only '}{attained!r}, computed independently"
    yield check_line("loss.witness", reaches, text)


def check_line(field: str, holds: bool, text: str) -> Check:
    """A check that could be made."""
    return Check(field, "holds" if holds else "fails", text)
