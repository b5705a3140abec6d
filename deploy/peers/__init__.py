"""Services and environments for `inventory bench peers`, which compares other stream engines.

They are a broker, a Postgres, Python environments, and the build of the Kafka Streams program.
"""
