"""The same job in other engines, one at a time on one broker: `inventory bench peers`.

The job: read sale lines as a connector writes them. Maintain on-hand per key, and units per key and
ten-minute window of business time (grace ten minutes). Store both in a changelog or something as
durable, at least once. The outputs of each peer are compared with an independent computation before
any of its figures is shown.

Rejected: timing each peer by its own clock, because start-up, garbage collection and the last
commit would not count alike for all peers. Also rejected: counting the broker's CPU in a peer's
figure.
"""
