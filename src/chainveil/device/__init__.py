"""Plans for devices: one small program, drawn from the standard library alone."""

from __future__ import annotations

from chainveil.device.export import device_program

__all__ = ["device_program"]
