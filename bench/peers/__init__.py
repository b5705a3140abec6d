"""The same job in other engines, one at a time on one broker: `inventory bench peers`.

The job: read sale lines as a connector writes them, keep on-hand per key and units per key and
ten-minute window of business time (grace ten minutes), keep both in a changelog or something as
durable, at least once. What each peer has written is compared with an independent computation
before any of its figures is shown.

Rejected: timing each peer by its own clock (start-up, garbage collection and the last commit would
be counted here and there, not everywhere alike), and keeping the broker's CPU in a peer's figure.
"""
