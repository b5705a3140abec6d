"""Age of the pipeline's heartbeats; automatic approvals stop if they are too old."""

from typing import Final

OLDEST_US: Final = 60_000_000

# Common table expressions for a query: `moment.now`, and `life.age_us`, the age of the oldest
# partition's heartbeat or of the actuator's; null if one of them is missing.
LIFE: Final = """
moment AS (SELECT clock_timestamp() AS now),
life AS (
    -- greatest() passes over nulls: an unknown age must not look like a small one.
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
    """Return True if the pipeline is unknown or older than 60 s."""
    return age_us is None or age_us > OLDEST_US
