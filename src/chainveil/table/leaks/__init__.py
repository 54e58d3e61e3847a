"""Whether a column that is published as it is would give the states away."""
