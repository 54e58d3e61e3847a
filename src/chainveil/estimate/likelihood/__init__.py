"""The chain that makes a release most likely, and what the likelihood leaves open.

The way of the data: ``passes`` goes over the release for one chain, ``quasi_newton`` finds the
next chain to try in ``coordinates``, ``maximum`` ends at the likeliest, ``profile`` finds limits.
``fitting`` is where questions come in for one chain, ``grouped_fits`` for one a group.
"""
