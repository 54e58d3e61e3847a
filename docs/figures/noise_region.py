"""Figure for docs/calibration.md: feasible noise of the paper's Figure 1 at epsilon = 2.

Run from the repository: python docs/figures/noise_region.py. No randomness.
"""

from __future__ import annotations

from pathlib import Path

import chainveil as cv


def main() -> None:
    """Calibrate and draw."""
    chain = cv.MarkovChain.binary(q=0.2, r=0.35)
    plan, ignorant = (cv.calibrate(chain, 2.0, adversary=who) for who in ("any", "ignorant"))
    figure = cv.plot.noise_region(plan, beside=ignorant)
    cv.plot.save(figure, Path(__file__).with_suffix(".png"))


if __name__ == "__main__":
    main()
