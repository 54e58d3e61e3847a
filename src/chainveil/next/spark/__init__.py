"""Releases of tables that one machine does not hold."""
