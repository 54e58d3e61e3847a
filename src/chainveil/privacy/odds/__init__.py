"""Losses of two-state chains under any noise: intervals of odds."""
