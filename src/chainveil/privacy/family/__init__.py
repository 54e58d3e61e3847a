"""Families of models: losses and noise that hold for each member."""
