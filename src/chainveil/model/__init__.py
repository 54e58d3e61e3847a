"""What the data may follow: chains of order 1, chains with a longer memory, boxes of chains.

Knows nothing of noise or of privacy.
"""

from __future__ import annotations

from chainveil.model.chain import MarkovChain
from chainveil.model.higher_order import HigherOrderChain
from chainveil.model.region import ChainRegion

__all__ = ["ChainRegion", "HigherOrderChain", "MarkovChain"]
