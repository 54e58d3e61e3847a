"""``privacy_loss``: the one question, whatever the model, the noise and the adversary."""

from __future__ import annotations

from collections.abc import Sequence

from chainveil.model.base import DataModel
from chainveil.noise.base import Noise
from chainveil.privacy import engines
from chainveil.privacy.adversary import Adversary, AdversaryName
from chainveil.privacy.problem import Effort, read_problem
from chainveil.privacy.result import PrivacyLoss


def privacy_loss(
    chain: DataModel,
    noise: Noise | Sequence[Noise],
    length: int | None = None,
    adversary: AdversaryName | Adversary = "any",
    *,
    event: int = 1,
    gaps: bool = False,
    tolerance: float = 1e-6,
    max_nodes: int = 500_000,
    max_seconds: float | None = None,
) -> PrivacyLoss:
    """Exact privacy loss of publishing a chain's points with noise.

    The supremum, over the adversaries asked for, of the BDPL of the paper's Definition 3:
    the largest log ratio Pr[z | x_i, x_K] / Pr[z | x_i', x_K] over outputs z, known values
    x_K and pairs of values of the target that can both occur with x_K.

    Parameters
    ----------
    chain : MarkovChain, ChainRegion, ModelFamily or another model
        Any number of states; lazy or not, reversible or not, stationary at the start or not.
        Over a region the result holds for every chain in it (see docs/uncertain-chains.md),
        over a family for each of its members (see docs/families.md): the result is then a
        ``FamilyLoss``, whose ``member`` is the worst of them.
    noise : Noise, or sequence of Noise
        A channel applied point by point, with as many states as the chain and any number
        of outputs; noise with a memory, for two states (see docs/memory.md and
        docs/correlated-noise.md); or several of them for several releases of the same
        series, seen together (channels, or any mix for two states).
    length : int, optional
        Number of points; by default the supremum over all lengths. The cost does not
        grow with it.
    adversary : "any", "ignorant", "informed" or Adversary
        "any" is Bayesian differential privacy. "ignorant" knows no other point (Theorem 1
        of the paper) and is weaker; "informed" knows all others, which is ordinary
        differential privacy.
    event : int
        The secret: any two values of so many consecutive points. 1, a single point, is
        Bayesian differential privacy as the paper defines it. More than one: two states.
    gaps : bool
        Whether points may be missing anywhere, for all to see; noise with a memory then holds
        its last report over them.
    tolerance, max_nodes, max_seconds : float, int, float
        For more than two states: how close the bounds shall come, and when the search
        stops all the same. Both bounds hold then too; ``gap`` says how far apart they are.
        Two states need no such limits: there they are checked and have no effect.

    Examples
    --------
    >>> import chainveil as cv
    >>> chain = cv.MarkovChain.symmetric(0.1)
    >>> loss = cv.privacy_loss(chain, cv.Channel.binary(0.02, 0.02), length=5)
    >>> round(loss.epsilon, 2)
    9.41
    >>> print(loss.witness)
    an adversary after point 2 of 5, knowing point 0 = 1 and point 4 = 1, sees 0 everywhere and weighs 0 against 1
    """  # noqa: E501 - the witness is one line
    effort = Effort.read(tolerance, max_nodes, max_seconds)
    problem = read_problem(chain, noise, length, adversary, effort, event=event, gaps=gaps)
    return engines.loss(problem)
