"""What the data may follow: chains, and boxes of chains."""
