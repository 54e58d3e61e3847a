"""``python -m chainveil.cli``."""

from __future__ import annotations

from chainveil.cli import main

main()
