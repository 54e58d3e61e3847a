"""Figure 4: reconstruction of synthetic and of real series, in three steps.

``series`` makes series, noise and releases and attacks them with known models; ``training``
trains the LSTMs and needs only NumPy and torch; ``figure`` collects and draws.
"""
