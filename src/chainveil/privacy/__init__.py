"""Numbers in, numbers out: what a release gives away, and the least noise for a budget."""
