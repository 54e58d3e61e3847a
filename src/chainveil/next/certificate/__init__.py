"""What was guaranteed and published, as JSON that anyone can check again."""
