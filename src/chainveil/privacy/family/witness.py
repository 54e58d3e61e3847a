"""An attack on one member of a family, which it names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from chainveil.model.base import DataModel
from chainveil.privacy.witness import Witness


@dataclass(frozen=True)
class MemberWitness(Witness):
    """An attack that attains the loss of a family.

    Attributes
    ----------
    attack : Witness
        The attack itself.
    member : str
        The name of the member whose loss is the largest.
    chain : DataModel
        The one law that the attack is on: the member, or the worst chain of a box.
    """

    attack: Witness
    member: str
    chain: DataModel

    @classmethod
    def on(cls, attack: Witness, member: str, chain: DataModel) -> MemberWitness:
        """The attack, on the chain of a member."""
        place = attack.length, attack.target, attack.known, attack.value, attack.other
        return cls(*place, attack, member, chain)

    @property
    def plain(self) -> Witness:
        """The attack without the name of the member."""
        return self.attack

    def output_array(self) -> NDArray[Any]:
        """The whole output, shape (length,)."""
        return self.attack.output_array()

    def replay(self, model: Any, noise: Any, /) -> float:
        """Log likelihood ratio of the output on ``model``; of a family on the member named."""
        law: Any = model if model.single else self.chain
        return self.attack.replay(law, noise)

    def leaves_out(self, noise: Any, /) -> bool:
        """Whether a point is missing in it: nothing is published where a report is due."""
        return self.attack.leaves_out(noise)

    def __str__(self) -> str:
        return f"{self.attack}; on {self.member}: {self.chain.describe()}"
