"""What the web tier reads from the environment, once, with the prefix `INVENTORY_`."""

import secrets
from typing import Any, Literal

from psycopg.conninfo import conninfo_to_dict
from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from cdc.settings import Connections

# Unqualified names resolve to Django's own tables first, then to facts, then to the read model.
SEARCH_PATH = "app,retail,read_model"


class WebEnvironment(BaseSettings):
    """Settings of the web processes that no other part shares."""

    model_config = SettingsConfigDict(env_prefix="INVENTORY_", frozen=True, extra="forbid")

    # Without a given key sessions end with the process: safe for one command, loud for a server.
    secret_key: SecretStr = Field(default_factory=lambda: SecretStr(secrets.token_urlsafe(48)))
    demo: bool = False
    https: bool = False
    allowed_hosts: str = "127.0.0.1,localhost,[::1]"
    trusted_origins: str = ""
    # Addresses or networks, separated by commas, of proxies whose X-Forwarded-For counts.
    trusted_proxies: str = ""
    # A session ends after so long without a request, and after so long altogether.
    idle_minutes: int = Field(default=30, ge=1, le=1_440)
    session_hours: int = Field(default=12, ge=1, le=168)
    # Roles that can change orders, prices or the system for all stores. A demo asks for no second
    # factor unless this is set.
    second_factor_roles: str = Field(default="lead,pricing,operator", max_length=200)
    database_role: Literal["app", "owner"] = "app"
    # 0 = a connection per request; a server sets it, short commands need no pool threads.
    database_pool: int = 0
    # Who orders, as suppliers read it; lines of the address are separated by |.
    company_name: str = Field(default="Example Retail", min_length=1, max_length=200)
    company_address: str = Field(default="", max_length=500)
    # The code of ISO 4217. Amounts have two decimals everywhere.
    currency: str = Field(default="EUR", pattern="^[A-Z]{3}$")

    @property
    def company_lines(self) -> str:
        """The address with a line break between its lines."""
        return "\n".join(line.strip() for line in self.company_address.split("|"))

    @property
    def roles_with_second_factor(self) -> tuple[str, ...]:
        """Roles that must log in with a second factor; a demo has none unless they are set."""
        if self.demo and "second_factor_roles" not in self.model_fields_set:
            return ()
        return tuple(self.listed(self.second_factor_roles))

    def listed(self, text: str) -> list[str]:
        """The comma-separated `text` as a list without blanks."""
        return [part.strip() for part in text.split(",") if part.strip()]


def database(connections: Connections, web: WebEnvironment) -> dict[str, Any]:
    """Django's DATABASES entry for the role that this process may use."""
    url = (
        connections.owner_database_url if web.database_role == "owner" else connections.database_url
    )
    return database_from_url(url.get_secret_value(), pool=web.database_pool)


def database_from_url(url: str, *, pool: int = 0) -> dict[str, Any]:
    """Django's DATABASES entry for a `postgresql://` address."""
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
        # Persistent connections leak under ASGI: each thread would keep its own for ever.
        "CONN_MAX_AGE": 0,
        "OPTIONS": options,
    }
