"""The same job in other engines, one at a time on one broker: `inventory bench peers`.

The job: read sale lines as a connector writes them. Maintain on-hand per key, and units per key and
ten-minute window of business time (grace ten minutes). Store on-hand and windows at least once, in
a changelog or another durable store. The bench compares the outputs of each peer with an
independent computation, and shows figures only for correct outputs.

The bench measures time itself. The clocks of the peers themselves would treat start-up, garbage
collection and the last commit differently. The broker's CPU time is a separate figure.
"""
