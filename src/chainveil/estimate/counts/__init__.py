"""From released points to counts, and from counts to unbiased shares with their covariance.

The way of the data: ``cells`` reads points and groups, ``counting`` counts patterns in them (by
``kernels``), ``pair_shares`` and ``covariance`` undo the noise and say how far the result strays.
"""
