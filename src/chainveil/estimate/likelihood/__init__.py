"""The chain that makes a release most likely, and what the likelihood leaves open.

The way of the data: ``passes`` goes over the release for one chain, ``climbing`` finds where to
look next in ``coordinates``, ``maximum`` ends at the top, ``profile`` finds limits beside it.
``fitting`` is where questions come in for one chain, ``grouped_fits`` for one a group.
"""
