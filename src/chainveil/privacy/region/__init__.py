"""Boxes of two-state chains: losses and noise that hold for every chain in one."""
