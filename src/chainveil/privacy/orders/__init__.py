"""Certified loss of chains of any order, by words that cover others."""
