"""The connector's definition agrees with the topic and table contracts."""

import re

from cdc.capture.client import PUBLICATION, SLOT, connector_config
from cdc.contracts.topics import CAPTURED, REFERENCE, REFERENCE_TABLES, STOCK_EVENTS


def test_every_captured_table_is_included_keyed_and_routed_to_stock_events() -> None:
    config = connector_config("127.0.0.1", 5432)
    lines = "|".join(CAPTURED)
    reference = "|".join(REFERENCE_TABLES)

    assert config["table.include.list"] == f"retail.({lines}|{reference})"
    assert config["message.key.columns"] == f"retail.({lines}):inv_key;retail.({reference}):code"
    assert config["transforms.route.regex"] == rf"retail\.retail\.({lines})"
    assert config["transforms.route.replacement"] == STOCK_EVENTS


def test_reference_tables_are_routed_to_topics_of_their_own() -> None:
    config = connector_config("127.0.0.1", 5432)
    rule = re.compile(config["transforms.refroute.regex"])
    replacement = config["transforms.refroute.replacement"].replace("$1", r"\1")

    routed = tuple(rule.sub(replacement, f"retail.retail.{table}") for table in REFERENCE_TABLES)

    assert routed == REFERENCE


def test_the_connector_uses_the_slot_and_publication_of_the_capture_client() -> None:
    config = connector_config("127.0.0.1", 5432)

    assert (config["slot.name"], config["publication.name"]) == (SLOT, PUBLICATION)


def test_the_connector_config_has_a_placeholder_instead_of_the_password() -> None:
    assert connector_config("127.0.0.1", 5432)["database.password"] == "${env:CDC_PASSWORD}"
