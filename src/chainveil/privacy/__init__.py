"""Privacy maths: numbers in, numbers out. No data, no randomness, no files."""
