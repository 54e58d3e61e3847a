"""What is asked of a table: its columns, how values become states, what else is published."""
