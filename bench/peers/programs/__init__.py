"""The peers that run in this project's environment, one program each.

Every peer, in any environment and language, takes the same four options. It creates an empty file
`first` in its directory when its first record has arrived. This file marks the end of the start-up.
"""
