"""From rows to states and their noise: following series through batches, fitting, drawing."""
