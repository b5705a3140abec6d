"""The age of the pipeline's heartbeats. Automatic approvals stop if this age exceeds 60 s."""

from typing import Final

OLDEST_US: Final = 60_000_000

# Common table expressions for a query. `moment.now` is the database's time. Each partition has a
# heartbeat, and the actuator has one. `life.age_us` is the age of the oldest of these heartbeats in
# microseconds. It is null if one of these heartbeats is missing.
LIFE: Final = """
moment AS (SELECT clock_timestamp() AS now),
life AS (
    -- greatest() ignores nulls, so an unknown age would look like a small one without this CASE.
    SELECT CASE WHEN beats.are_known AND actuator.at IS NOT NULL THEN greatest(
        (extract(epoch FROM moment.now) * 1000000)::bigint - beats.oldest_us,
        (extract(epoch FROM moment.now - actuator.at) * 1000000)::bigint
    ) END AS age_us
    FROM moment
    CROSS JOIN (
        SELECT min(commit_us) AS oldest_us,
               count(*) > 0 AND count(*) = count(commit_us) AND count(*) >= (
                   SELECT count(*) FROM retail.pipeline_heartbeat
                   WHERE occurred_at > clock_timestamp() - interval '60 s') AS are_known
        FROM read_model.heartbeat
    ) beats
    LEFT JOIN read_model.service_heartbeat actuator ON actuator.service = 'actuator'
)"""


def is_stale(age_us: int | None) -> bool:
    """Return True if the age of the heartbeats is unknown (None) or exceeds 60 s."""
    return age_us is None or age_us > OLDEST_US
