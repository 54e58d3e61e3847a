"""A release read again: by a verifier, an analyst or an attacker."""
