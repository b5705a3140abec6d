"""Services and environments for `inventory bench peers`, which compares stream engines.

The services are a broker and a Postgres. The environments are virtual environments of Python and
the build of the Kafka Streams program.
"""
