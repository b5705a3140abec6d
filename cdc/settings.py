"""The addresses and secrets of the services, from `INVENTORY_*` environment variables.

`inventory up` sets these variables for every process that it starts. Commands take them from the
running stack. Secrets are masked when printed.
"""

from pathlib import Path

from pydantic import SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from cdc.contracts.topics import APP_ID


class Connections(BaseSettings):
    """The addresses and secrets that any process may need.

    Each field has a variable: `kafka_bootstrap` is set by `INVENTORY_KAFKA_BOOTSTRAP`.
    """

    model_config = SettingsConfigDict(env_prefix="INVENTORY_", frozen=True, extra="forbid")

    home: Path = Path(".inventory")  # parent directory of all files of a local stack
    archive: str = ""  # path or URL of the archive to read; empty: the stack's own
    kafka_bootstrap: str = "127.0.0.1:9092"
    connect_url: str = "http://127.0.0.1:8083"
    connect_password: SecretStr = SecretStr("")  # of the account `inventory` in Connect's REST API
    database_url: SecretStr = SecretStr("postgresql://app_rw@127.0.0.1:5432/retail")
    owner_database_url: SecretStr = SecretStr("postgresql://retail_owner@127.0.0.1:5432/retail")
    sink_database_url: SecretStr = SecretStr("postgresql://sink_rw@127.0.0.1:5432/retail")
    read_database_url: SecretStr = SecretStr("postgresql://app_ro@127.0.0.1:5432/retail")
    query_token: SecretStr = SecretStr("")
    partitions: int = 12
    generation: int = 1

    @property
    def archive_dir(self) -> Path:
        """Return the directory in which the archiver of this home writes `stock.events`."""
        return self.home / "archive"

    @property
    def archive_location(self) -> Path | str:
        """Return the archive to read: the path or URL `archive`, or else the stack's directory."""
        return self.archive or self.archive_dir

    @property
    def worker_dir(self) -> Path:
        """Return the directory for files of this logic revision's workers, such as snapshots."""
        return self.home / "workers" / APP_ID
