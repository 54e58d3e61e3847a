"""``privacy_loss``: the loss of a model and its noise, by the solver that answers for them."""

from __future__ import annotations

from collections.abc import Sequence

from chainveil.model.base import DataModel
from chainveil.noise.base import Noise
from chainveil.privacy import engines
from chainveil.privacy.adversary import Adversary, AdversaryName
from chainveil.privacy.problem import Unit, read_problem
from chainveil.privacy.result import PrivacyLoss


def privacy_loss(
    model: DataModel,
    noise: Noise | Sequence[Noise],
    *,
    unit: Unit = "point",
    length: int | None = None,
    adversary: AdversaryName | Adversary = "any",
    gaps: bool = False,
    effort: int | None = None,
) -> PrivacyLoss:
    """Bounds on the privacy loss of publishing a series with noise.

    Parameters
    ----------
    model : MarkovChain, HigherOrderChain, ChainRegion, ModelFamily or another model
        The law of the series, with k states. For a region the result holds for every chain in
        it, for a family for each member; it then also names the chain that is attacked.
    noise : Noise, or sequence of Noise
        The noise of the release, with k states and any number of reports; or that of several
        releases of the same series, which the adversary sees together.
    unit : "point" or int
        The unit of privacy: the value of one point, or the values of any W consecutive points
        (two states).
    length : int, optional
        Number n of points of the series. By default the bounds hold for every n.
    adversary : "any", "ignorant", "informed" or Adversary
        Which points K the adversary knows: "any" set of them (Bayesian differential privacy),
        none ("ignorant", Theorem 1 of the paper), all others ("informed", ordinary differential
        privacy), or those of one :class:`Adversary`.
    gaps : bool
        Whether any point may be missing, which everybody sees. This matters for noise that
        carries its last report forward over missing points.
    effort : int, optional
        Largest number of steps of the search; both bounds hold whatever it is. A step is an edge
        of the automaton that is visited (two states), or a node of the search (other models).
        By default a number that takes a few seconds.

    Returns
    -------
    PrivacyLoss
        ``epsilon``, an upper bound on (1), ``lower``, which the attack ``witness`` attains, and
        the ``steps`` that the search took. The same question has the same answer on every machine.

    Notes
    -----
    The loss is the supremum of the log likelihood ratio of Definition 3 of the paper,

        log ( Pr[z | x_i, x_K] / Pr[z | x_i', x_K] ),                                     (1)

    over targets i, sets K of known points, their values x_K, pairs of values x_i and x_i' that
    can both occur together with x_K, and outputs z of shape (n,). With a unit of W points, i is
    replaced by W consecutive points.

    For two states the bounds differ by at most 0.01% of the loss, or by 0.4% where closer ones
    take long, unless the steps run out (docs/exact-loss.md). For more states and for higher
    orders the bounds meet where the search ends within its steps (docs/finite-states.md,
    docs/higher-order.md); ``gap`` is their distance.

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
    return engines.loss(read_problem(model, noise, length, adversary, effort, unit=unit, gaps=gaps))
