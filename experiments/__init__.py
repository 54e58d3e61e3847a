"""The paper's figures and claims, run again beside the corrected ones; one module each.

Settings are TOML files in ``settings/``. Importing this package loads nothing else, so that the
training of Figure 4 runs where there is only NumPy and torch.
"""
