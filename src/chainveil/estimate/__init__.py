"""What an analyst may learn from a release, with honest intervals.

Importing this package compiles nothing.
"""

from __future__ import annotations

from chainveil.estimate.durations import durations
from chainveil.estimate.frequency import frequency
from chainveil.estimate.transitions import transitions

__all__ = ["durations", "frequency", "transitions"]
