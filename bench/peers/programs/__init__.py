"""The peers that run in our own environment, one program each.

Every peer, also those in other environments and languages, takes the same four options and says
with an empty file `first` in its directory that its first record has arrived: its start-up ends.
"""
