"""What a user may ask of a release: one file a question, each with one function of its name.

A question reads the release, counts (``estimate.counts``), and answers with a value and an
interval (``estimate.results``).
"""
