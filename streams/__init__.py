"""The stream processes: workers, which compute the state of every key, and sinks.

Sinks write the workers' output into Postgres.
"""
