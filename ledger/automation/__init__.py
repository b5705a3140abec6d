"""Automatic jobs outside of the stream: approvals by rule, prices, tasks, scorecards.

Nothing here computes stock. Each job reads the workers' decisions and the limits that people set.
It writes through the same services as people do, so its facts differ only in the recorded actor.
"""
