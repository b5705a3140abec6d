"""Settings of the web tier, read once from environment variables with the prefix `INVENTORY_`."""

import secrets
from typing import Any, Literal
from zoneinfo import ZoneInfoNotFoundError

from psycopg.conninfo import conninfo_to_dict
from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from cdc.settings import Connections
from ledger.kernel.zones import zone_of

# A table name without a schema is searched in `app` first, then in `retail`, then in `read_model`.
SEARCH_PATH = "app,retail,read_model"


class WebEnvironment(BaseSettings):
    """Settings that only the web processes use."""

    model_config = SettingsConfigDict(env_prefix="INVENTORY_", frozen=True, extra="forbid")

    # The default is a random key of this process, so that a single command needs no setting. Give a
    # server a key: with the default, each restart logs everybody out.
    secret_key: SecretStr = Field(default_factory=lambda: SecretStr(secrets.token_urlsafe(48)))
    demo: bool = False
    https: bool = False
    allowed_hosts: str = "127.0.0.1,localhost,[::1]"
    trusted_origins: str = ""
    # Proxies whose X-Forwarded-For header is trusted: addresses or networks, separated by commas.
    trusted_proxies: str = ""
    # A session ends after `idle_minutes` without a request, and after `session_hours` in any case.
    idle_minutes: int = Field(default=30, ge=1, le=1_440)
    session_hours: int = Field(default=12, ge=1, le=168)
    # Roles that need a second factor. The default: roles that can change orders, prices or the
    # system for all stores. A demo requires no second factor unless this is set.
    second_factor_roles: str = Field(default="lead,pricing,operator", max_length=200)
    database_role: Literal["app", "owner"] = "app"
    # 0 = one connection per request. A server sets a pool size; short commands need no pool
    # threads.
    database_pool: int = 0
    # Name and address of the buyer on purchase orders. `|` separates the lines of the address.
    company_name: str = Field(default="Example Retail", min_length=1, max_length=200)
    company_address: str = Field(default="", max_length=500)
    # An ISO 4217 code. Amounts have two decimals for every currency.
    currency: str = Field(default="EUR", pattern="^[A-Z]{3}$")
    # Webhooks reach public addresses only. True also allows loopback and private addresses.
    webhook_private_targets: bool = False
    webhook_timeout_s: float = Field(default=10.0, gt=0, le=60)
    # The sender gives up a message that has waited for more days than this behind failed messages
    # of the same webhook. The message is then *dead*.
    webhook_wait_days: int = Field(default=7, ge=1, le=90)
    # Address and port on which the sender of webhooks serves /metrics. Port 0 turns it off.
    webhook_metrics_host: str = Field(default="127.0.0.1", min_length=1, max_length=200)
    webhook_metrics_port: int = Field(default=0, ge=0, le=65_535)
    # IANA name of the stores' time zone. Pages show local times, such as "today 02:31", in it.
    time_zone: str = Field(default="UTC", max_length=64)

    @field_validator("time_zone")
    @classmethod
    def _is_known(cls, name: str) -> str:
        try:
            zone_of(name)
        except (ZoneInfoNotFoundError, ValueError) as unknown:
            message = f"no time zone has the name {name!r}; an example is Europe/Dublin"
            raise ValueError(message) from unknown
        return name

    @property
    def company_lines(self) -> str:
        """Return the lines of the company's address, separated by line breaks."""
        return "\n".join(line.strip() for line in self.company_address.split("|"))

    @property
    def roles_with_second_factor(self) -> tuple[str, ...]:
        """Return the roles that need a second factor: in a demo, only explicitly set ones."""
        if self.demo and "second_factor_roles" not in self.model_fields_set:
            return ()
        return tuple(self.listed(self.second_factor_roles))

    def listed(self, text: str) -> list[str]:
        """Return the comma-separated parts of `text`, without blanks and empty parts."""
        return [part.strip() for part in text.split(",") if part.strip()]


def database(connections: Connections, web: WebEnvironment) -> dict[str, Any]:
    """Return Django's DATABASES entry for the database role of this process."""
    url = (
        connections.owner_database_url if web.database_role == "owner" else connections.database_url
    )
    return database_from_url(url.get_secret_value(), pool=web.database_pool)


def database_from_url(url: str, *, pool: int = 0) -> dict[str, Any]:
    """Return Django's DATABASES entry for a `postgresql://` URL.

    `pool` is the largest number of pooled connections. With 0, each request opens a connection.
    """
    parts = conninfo_to_dict(url)
    options: dict[str, Any] = {"options": f"-c search_path={SEARCH_PATH}"}
    if pool:
        options["pool"] = {"min_size": 1, "max_size": pool}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.get("dbname", "retail"),
        "USER": parts.get("user", ""),
        "PASSWORD": parts.get("password", ""),
        "HOST": parts.get("host", "127.0.0.1"),
        "PORT": str(parts.get("port", "5432")),
        # Close a connection after its request. Under ASGI, each thread would otherwise keep its own
        # connection open permanently.
        "CONN_MAX_AGE": 0,
        "OPTIONS": options,
    }
