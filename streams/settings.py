"""Settings of the stream processes, read once at start from `INVENTORY_*` variables."""

from pathlib import Path

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from cdc.settings import Connections
from streams.engine.undecodable import PERMILLE


class StreamSettings(Connections):
    """Addresses, and the few options that change cost or latency but never a result."""

    model_config = SettingsConfigDict(env_prefix="INVENTORY_", frozen=True, extra="forbid")

    log_level: str = Field(default="INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$")


class WorkerSettings(StreamSettings):
    """Settings of one worker.

    `worker_id` is its static group membership. A worker that restarts under its id within the
    session gets its partitions back, and no other worker's partitions move.

    `undecodable_permille` of the last 1,000 records may be undecodable before a worker stops. An
    operator who has checked that they are no facts can raise the limit, so that the worker
    continues.
    """

    worker_id: str = Field(default="worker-1", pattern="^[A-Za-z0-9_-]{1,64}$")
    worker_host: str = "127.0.0.1"  # state is readable here: loopback by default
    worker_port: int = Field(default=6066, ge=1, le=65_535)
    chunk_records: int = Field(default=1_000, ge=1, le=100_000)
    session_timeout_s: float = Field(default=6.0, ge=1, le=300)
    republish_s: float = Field(default=60.0, ge=1, le=3_600)
    snapshot_s: float = Field(default=60.0, ge=1, le=3_600)
    stall_s: float = Field(default=30.0, ge=5, le=600)
    undecodable_permille: int = Field(default=PERMILLE, ge=0, le=1_000)

    @property
    def heartbeat_s(self) -> float:
        """Return the group heartbeat interval (s): two of three may be lost within a session."""
        return self.session_timeout_s / 3

    @property
    def snapshot_dir(self) -> Path:
        """Return the directory of this worker's snapshots. Deleting it costs time only."""
        return self.worker_dir / self.worker_id / "snapshots"

    @property
    def topics_file(self) -> Path:
        """Return the path of the file with the ids of the topics behind this revision's state.

        All workers share it, so that a worker that never ran here before knows them too.
        """
        return self.worker_dir / "topics.json"


class SinkSettings(StreamSettings):
    """Settings of the projector and the actuator."""

    sink_batch_records: int = Field(default=20_000, ge=1, le=200_000)
    sink_poll_ms: int = Field(default=50, ge=1, le=5_000)
