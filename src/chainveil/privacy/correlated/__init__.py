"""Exact loss and least noise of correlated noise: one owner, one noise chain."""
