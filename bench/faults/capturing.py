"""Faults of change capture: connector, publication and replication slot."""

from collections.abc import Iterator
from typing import Final

import psycopg

from bench.faults.fault import Cause, Check, Expected, Fault, mentions
from bench.faults.stack_under_test import StackUnderTest, wait_for

_SLOT: Final = "retail_cdc"
_CONNECTOR: Final = "/connectors/retail-cdc"
_BEAT: Final = "heartbeat.interval.ms"
_CHANGED: Final = "7777"


def connector_faults() -> Iterator[Fault]:
    """Yield the connector faults that the process `capture` repairs by itself."""
    away = Expected(_connector_away, mentions("connector", "capture"))
    changed = Expected(_config_differs, mentions("connector", "capture"))
    yield Fault("pause connector", _connect_request("PUT", "/pause"), lambda _: away)
    yield Fault("stop connector", _connect_request("PUT", "/stop"), lambda _: away)
    yield Fault("delete connector", _connect_request("DELETE", ""), lambda _: away)
    yield Fault("change connector", _change_config, lambda _: changed)


def source_faults() -> Iterator[Fault]:
    """Yield faults that leave gaps in the log. The repair is always a new generation of the log."""
    yield _fault("drop publication", _drop_publication, _no_publication, "publication")
    yield _fault("drop slot", _drop_slot, _no_slot, "slot")


def _fault(name: str, cause: Cause, is_broken: Check, word: str) -> Fault:
    return Fault(name, cause, lambda _: Expected(is_broken, mentions(word)), heals=False)


def _no_slot(stack: StackUnderTest) -> bool:
    return not stack.sql("SELECT 1 FROM pg_replication_slots WHERE slot_name = %s", _SLOT)


def _drop_slot(stack: StackUnderTest) -> None:
    """Terminate Debezium's replication connection and drop the slot before Debezium reconnects."""

    def dropped() -> bool:
        stack.sql(
            "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots"
            " WHERE active_pid IS NOT NULL"
        )
        try:
            stack.sql("SELECT pg_drop_replication_slot(%s)", _SLOT)
        except psycopg.Error:  # Debezium has reconnected already
            return _no_slot(stack)
        return True

    wait_for(dropped, "a slot without a reader")


def _no_publication(stack: StackUnderTest) -> bool:
    return not stack.sql("SELECT 1 FROM pg_publication WHERE pubname = %s", _SLOT)


def _drop_publication(stack: StackUnderTest) -> None:
    stack.sql(f"DROP PUBLICATION {_SLOT}")


def _connector_away(stack: StackUnderTest) -> bool:
    answer = stack.connect("GET", f"{_CONNECTOR}/status")
    if answer.is_error:
        return True
    body = answer.json()
    states = {body["connector"]["state"], *(task["state"] for task in body["tasks"])}
    return states != {"RUNNING"} or not body["tasks"]


def _config(stack: StackUnderTest) -> dict[str, str]:
    found: dict[str, str] = stack.connect("GET", f"{_CONNECTOR}/config").json()
    return found


def _change_config(stack: StackUnderTest) -> None:
    changed = _config(stack) | {_BEAT: _CHANGED}
    stack.connect("PUT", f"{_CONNECTOR}/config", json=changed).raise_for_status()


def _config_differs(stack: StackUnderTest) -> bool:
    return _config(stack).get(_BEAT) == _CHANGED


def _connect_request(method: str, path: str) -> Cause:
    def ask(stack: StackUnderTest) -> None:
        stack.connect(method, f"{_CONNECTOR}{path}").raise_for_status()

    return ask
