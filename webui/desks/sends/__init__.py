"""Sends that wait for ten seconds, with the notice that the buyer's desks show."""
