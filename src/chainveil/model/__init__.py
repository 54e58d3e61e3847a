"""What the data may follow: chains of order 1, of longer memory, boxes of chains, families.

Knows nothing of noise or of privacy.
"""

from __future__ import annotations

from chainveil.model.base import DataModel, read_model, register
from chainveil.model.chain import MarkovChain
from chainveil.model.family import ModelFamily
from chainveil.model.higher_order import HigherOrderChain
from chainveil.model.orders import OrderChoice, choose_order
from chainveil.model.region import ChainRegion

__all__ = [
    "ChainRegion",
    "DataModel",
    "HigherOrderChain",
    "MarkovChain",
    "ModelFamily",
    "OrderChoice",
    "choose_order",
    "read_model",
    "register",
]
