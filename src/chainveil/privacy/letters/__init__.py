"""Any number of states: words over letters, and words that cover others."""
