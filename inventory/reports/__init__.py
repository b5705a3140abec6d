"""Figures that are computed from states and facts for reading only."""
