"""Sends, which wait for ten seconds, and the notice about them on the desks of buyers."""
