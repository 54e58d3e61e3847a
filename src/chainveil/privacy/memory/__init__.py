"""Exact loss and best noise where reports remember, are rare, or the secret is an event."""
