"""Before a release: what each way to make it would leave of the data, and which to take."""

from __future__ import annotations

from chainveil.comparison.comparing import compare
from chainveil.comparison.recommend import Recommendation
from chainveil.comparison.results import Comparison

__all__ = ["Comparison", "Recommendation", "compare"]
