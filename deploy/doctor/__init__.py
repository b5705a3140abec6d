"""Finds what is wrong on this machine and names the command that repairs it."""
