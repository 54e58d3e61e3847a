"""What the data may follow: chains of order 1, of longer memory, boxes of chains, families.

Knows nothing of noise or of privacy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chainveil.model.base import DataModel, read_model, register
from chainveil.model.chain import MarkovChain
from chainveil.model.family import ModelFamily
from chainveil.model.higher_order import HigherOrderChain
from chainveil.model.orders import OrderChoice, choose_order
from chainveil.model.region import ChainRegion

if TYPE_CHECKING:
    from chainveil.contract import check_model

__all__ = [
    "ChainRegion",
    "DataModel",
    "HigherOrderChain",
    "MarkovChain",
    "ModelFamily",
    "OrderChoice",
    "check_model",
    "choose_order",
    "read_model",
    "register",
]


def __getattr__(name: str) -> Any:
    # It needs everything that works with models, and is imported when it is asked for.
    if name == "check_model":
        from chainveil.contract import check_model

        return check_model
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
