"""Figures for people, computed from states and facts. No rule of the fold reads them."""
