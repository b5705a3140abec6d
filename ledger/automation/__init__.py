"""Periodic jobs that run outside of the workers.

They approve reorders and prices that the rules allow without a person, open and clear tasks, and
measure suppliers. Nothing here computes stock. Each job reads the workers' decisions and the limits
that people set. It writes through the same services as people do; its rows have no actor.
"""
