"""Automatic rules require heartbeats: a row per partition in Postgres, and one of the actuator."""

import psycopg

from tests.stack.running import RunningStack


def test_heartbeats_of_the_whole_pipeline_are_fresh(stack: RunningStack) -> None:
    from ledger.kernel.pipeline import LIFE, is_stale  # noqa: PLC0415 -- late: Django reads the stack's environment

    url = stack.settings.read_database_url.get_secret_value()

    def age_us() -> int | None:
        with psycopg.connect(url, autocommit=True) as connection:
            found = connection.execute(f"WITH {LIFE} SELECT age_us FROM life").fetchone()  # noqa: S608 -- a constant of this project
        assert found is not None
        age: int | None = found[0]
        return age

    stack.wait_until(lambda: not is_stale(age_us()), describe=age_us)
