"""How a report is drawn, as numbers."""
