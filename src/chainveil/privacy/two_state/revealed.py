"""Witnesses of an infinite loss: an output that only one value of the target can produce."""

from __future__ import annotations

import math
from itertools import product

from chainveil.errors import InvalidInput
from chainveil.model.chain import MarkovChain
from chainveil.noise.channel import Channel
from chainveil.privacy.adversary import Adversary, AdversaryName
from chainveil.privacy.rationals import channel_entries
from chainveil.privacy.two_state.setting import Setting
from chainveil.privacy.two_state.witness import TwoStateWitness


def revealing_witness(
    chain: MarkovChain,
    channel: Channel,
    setting: Setting,
    length: int | None,
    adversary: AdversaryName | Adversary,
) -> TwoStateWitness | None:
    """A possible output that rules one value of the target out, tried until one replays.

    The series around the target is taken to have one state at even and one at odd
    distance; a chain of two states always allows one of these few patterns.
    """
    target, known = _target_and_known(setting, length, adversary)
    points = length if length is not None else max([target, *known]) + 1
    for (value, proof), even, odd in product(setting.proofs.items(), (0, 1), (0, 1)):
        states = (even, odd)
        values = {index: states[(index - target) % 2] for index in known}
        symbols = proof, _symbol(channel, even), _symbol(channel, odd)
        witness = TwoStateWitness(points, target, values, value, 1 - value, symbols)
        if _is_infinite(witness, chain, channel):
            return witness
    return None


def _target_and_known(
    setting: Setting, length: int | None, adversary: AdversaryName | Adversary
) -> tuple[int, list[int]]:
    if isinstance(adversary, Adversary):
        target, neighbours = adversary.target, list(adversary.nearest)
    else:
        target = setting.first_target
        neighbours = [target - 1, target + 1] if adversary == "informed" else []
    last = math.inf if length is None else length
    known = [j for j in neighbours if j is not None and setting.first_target <= j < last]
    return target, known


def _symbol(channel: Channel, state: int) -> int:
    """An output that ``state`` can produce; one that the other can produce too, if any."""
    rows = channel_entries(channel)
    possible = [z for z in range(channel.outputs) if rows[state][z]]
    return max(possible, key=lambda z: rows[1 - state][z] > 0)


def _is_infinite(witness: TwoStateWitness, chain: MarkovChain, channel: Channel) -> bool:
    try:
        return math.isinf(witness.replay(chain, channel))
    except InvalidInput:
        return False  # the pattern cannot occur in this chain
