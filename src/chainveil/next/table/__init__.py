"""From a table to its release and back."""
