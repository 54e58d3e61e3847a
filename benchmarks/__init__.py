"""Side by side with peers, one run, ratios."""
