"""``python -m experiments``."""

from __future__ import annotations

import sys

from experiments.command import run

if __name__ == "__main__":
    sys.exit(run())
