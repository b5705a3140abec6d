"""Checks of machine and stack that name the command for each repair."""
