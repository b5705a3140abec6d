"""The settings of workers and sinks, read once at start from `INVENTORY_*` variables."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from cdc.settings import Connections
from streams.engine.undecodable import PERMILLE

# Prefix of the ids of shadow workers, which run beside the stack's own workers.
SHADOW_PREFIX: Final = "shadow-"


class StreamSettings(Connections):
    """The settings that workers and sinks share: addresses, secrets and the log level."""

    model_config = SettingsConfigDict(env_prefix="INVENTORY_", frozen=True, extra="forbid")

    log_level: str = Field(default="INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$")


class WorkerSettings(StreamSettings):
    """The settings of one worker. Only `undecodable_permille` can change a result.

    `worker_id` is its static id in the consumer group. A worker that restarts under the same id
    within `session_timeout_s` gets its partitions back, and no other partitions move. Settings
    that end with `_s` are in seconds.

    `undecodable_permille` limits the undecodable records among a partition's last 1,000 records.
    With 10, the worker stops at the 11th of them. An operator can raise this limit, but should
    first check that the undecodable records contain no changes of rows.
    """

    worker_id: str = Field(default="worker-1", pattern="^[A-Za-z0-9_-]{1,64}$")
    worker_host: str = "127.0.0.1"  # loopback by default, because queries return all state
    worker_port: int = Field(default=6066, ge=1, le=65_535)
    chunk_records: int = Field(default=1_000, ge=1, le=100_000)
    session_timeout_s: float = Field(default=6.0, ge=1, le=300)
    republish_s: float = Field(default=60.0, ge=1, le=3_600)
    snapshot_s: float = Field(default=60.0, ge=1, le=3_600)
    stall_s: float = Field(default=30.0, ge=5, le=600)
    undecodable_permille: int = Field(default=PERMILLE, ge=0, le=1_000)

    @property
    def heartbeat_s(self) -> float:
        """Return the interval of group heartbeats in seconds: a sixth of the session timeout.

        A worker learns of a rebalance from the response to its heartbeat. Until then, no worker
        folds the partitions of a member that has left.
        """
        return self.session_timeout_s / 6

    @property
    def snapshot_dir(self) -> Path:
        """Return the directory of this worker's snapshots.

        If the directory is deleted, the next restore only takes longer.
        """
        return self.worker_dir / self.worker_id / "snapshots"

    def all_snapshot_dirs(self) -> Sequence[Path]:
        """Return the snapshot directories of all workers that share `worker_dir`.

        All these workers are of the same local stack and the same logic revision.
        """
        return sorted(self.worker_dir.glob("*/snapshots"))

    @property
    def topics_file(self) -> Path:
        """Return the path of the file with the topic ids that belong to this revision's state.

        All workers share the file, so that a new worker knows the ids too.
        """
        return self.worker_dir / "topics.json"


class SinkSettings(StreamSettings):
    """The settings of the projector and the actuator.

    A sink reads at most `sink_batch_records` records at once, and the actuator never more than
    1,000. A sink waits for records for at most `sink_poll_ms` milliseconds.
    """

    sink_batch_records: int = Field(default=20_000, ge=1, le=200_000)
    sink_poll_ms: int = Field(default=50, ge=1, le=5_000)
