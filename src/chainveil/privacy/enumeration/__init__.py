"""Short series, any noise: the definition itself, every output and every adversary."""
