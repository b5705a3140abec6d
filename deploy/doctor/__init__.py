"""Checks of machine and stack. Each failing check names the command that repairs it."""
