"""Faults of change capture: connector, publication and replication slot."""

from collections.abc import Iterator
from typing import Final

import psycopg

from bench.faults.fault import Cause, Expected, Fault, Truth, named
from bench.faults.ground import Ground, wait_for

_SLOT: Final = "retail_cdc"
_CONNECTOR: Final = "/connectors/retail-cdc"
_BEAT: Final = "heartbeat.interval.ms"
_CHANGED: Final = "7777"


def connector_faults() -> Iterator[Fault]:
    """Yield the faults that the capture's reconciler repairs by itself."""
    away = Expected(_connector_away, named("connector", "capture"))
    changed = Expected(_config_differs, named("connector", "capture"))
    yield Fault("pause connector", _asking("PUT", "/pause"), lambda _: away)
    yield Fault("stop connector", _asking("PUT", "/stop"), lambda _: away)
    yield Fault("delete connector", _asking("DELETE", ""), lambda _: away)
    yield Fault("change connector", _change_config, lambda _: changed)


def source_faults() -> Iterator[Fault]:
    """Yield the faults that lose changes from the log: a new generation repairs them."""
    yield _fault("drop publication", _drop_publication, _no_publication, "publication")
    yield _fault("drop slot", _drop_slot, _no_slot, "slot")


def _fault(name: str, cause: Cause, is_broken: Truth, word: str) -> Fault:
    return Fault(name, cause, lambda _: Expected(is_broken, named(word)), heals=False)


def _no_slot(ground: Ground) -> bool:
    return not ground.sql("SELECT 1 FROM pg_replication_slots WHERE slot_name = %s", _SLOT)


def _drop_slot(ground: Ground) -> None:
    """End the reader and drop the slot before the reader reconnects."""

    def dropped() -> bool:
        ground.sql(
            "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots"
            " WHERE active_pid IS NOT NULL"
        )
        try:
            ground.sql("SELECT pg_drop_replication_slot(%s)", _SLOT)
        except psycopg.Error:  # the reader has reconnected already
            return _no_slot(ground)
        return True

    wait_for(dropped, "a slot without a reader")


def _no_publication(ground: Ground) -> bool:
    return not ground.sql("SELECT 1 FROM pg_publication WHERE pubname = %s", _SLOT)


def _drop_publication(ground: Ground) -> None:
    ground.sql(f"DROP PUBLICATION {_SLOT}")


def _connector_away(ground: Ground) -> bool:
    answer = ground.connect("GET", f"{_CONNECTOR}/status")
    if answer.is_error:
        return True
    body = answer.json()
    states = {body["connector"]["state"], *(task["state"] for task in body["tasks"])}
    return states != {"RUNNING"} or not body["tasks"]


def _config(ground: Ground) -> dict[str, str]:
    found: dict[str, str] = ground.connect("GET", f"{_CONNECTOR}/config").json()
    return found


def _change_config(ground: Ground) -> None:
    changed = _config(ground) | {_BEAT: _CHANGED}
    ground.connect("PUT", f"{_CONNECTOR}/config", json=changed).raise_for_status()


def _config_differs(ground: Ground) -> bool:
    return _config(ground).get(_BEAT) == _CHANGED


def _asking(method: str, path: str) -> Cause:
    def ask(ground: Ground) -> None:
        ground.connect(method, f"{_CONNECTOR}{path}").raise_for_status()

    return ask
