"""`.env.example` names the variables that the settings classes read, and no other."""

import re

import pytest
from pydantic import ValidationError
from pydantic_settings import BaseSettings

from cdc.settings import Connections
from deploy.stack.home import PROJECT
from streams.settings import SinkSettings, WorkerSettings
from webui.config.environment import WebEnvironment

CLASSES: tuple[type[BaseSettings], ...] = (
    Connections,
    WorkerSettings,
    SinkSettings,
    WebEnvironment,
)
# Read by the command line and the supervisor themselves, before any settings class, and by the
# web server, whose module cannot be imported without a configured Django.
BY_THE_COMMAND = {"INVENTORY_CACHE", "INVENTORY_POSTGRES_BIN"}
BY_THE_WEB_SERVER = {"INVENTORY_WEB_HOST", "INVENTORY_WEB_PORT"}


def known() -> set[str]:
    fields = {f"INVENTORY_{name.upper()}" for c in CLASSES for name in c.model_fields}
    return fields | BY_THE_COMMAND | BY_THE_WEB_SERVER


def test_the_example_names_every_variable_and_invents_none() -> None:
    text = (PROJECT / ".env.example").read_text(encoding="utf-8")
    named = set(re.findall(r"^#? ?(INVENTORY_[A-Z_]+)=", text, re.MULTILINE))

    assert named == known()


def test_a_malformed_value_is_named_with_the_expected_form(monkeypatch) -> None:
    monkeypatch.setenv("INVENTORY_PARTITIONS", "a dozen")

    with pytest.raises(ValidationError) as refused:
        Connections()

    assert "partitions" in str(refused.value)
    assert "a dozen" in str(refused.value)
    assert "integer" in str(refused.value)


def test_secrets_are_printed_masked() -> None:
    text = repr(Connections())

    assert "postgresql://" not in text
    assert "**********" in text
