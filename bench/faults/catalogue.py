"""Faults that `inventory bench faults --all` causes, one value each.

A fault has a cause and a truth: a question to the part itself whether the damage is still there.
`status` has to agree with that truth. Faults without a truth are found when the damaged thing is
used; their cause uses it.
"""

import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException

from bench.faults import poison
from bench.faults.ground import Ground, NotReached, send, state_of, wait_for

SERVICES: Final = (
    *("postgres", "kafka", "connect", "worker-1", "worker-2"),
    *("projector", "actuator", "archiver", "heartbeat", "automation", "web"),
)
_SLOT: Final = "retail_cdc"
_CONNECTOR: Final = "/connectors/retail-cdc"
_GROUP_S: Final = 60.0

Cause = Callable[[Ground], None]
Truth = Callable[[Ground], bool]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong.

    `prepare` returns the truth, after it has seen the whole thing and before `cause` breaks it.
    """

    name: str
    cause: Cause
    prepare: Callable[[Ground], Truth] | None = None
    undo: Cause = lambda _ground: None


def _process_fault(service: str, name: str, number: signal.Signals) -> Fault:
    def prepare(ground: Ground) -> Truth:
        pid = ground.pid(service)
        return lambda now: (
            state_of(pid) in ("T", "Z", "")
            and now.entry(service)["pid"]
            in (
                pid,
                None,
            )
        )

    def cause(ground: Ground) -> None:
        send(ground.pid(service), number)

    return Fault(f"{name} {service}", cause, prepare)


def _processes() -> Iterator[Fault]:
    kinds = (("kill", signal.SIGKILL), ("end", signal.SIGTERM), ("stop", signal.SIGSTOP))
    for name, number in kinds:
        for service in SERVICES:
            yield _process_fault(service, name, number)


def _supervisor() -> Fault:
    def prepare(ground: Ground) -> Truth:
        pid = ground.supervisor
        return lambda now: state_of(pid) in ("Z", "") and now.supervisor == pid

    def cause(ground: Ground) -> None:
        send(ground.supervisor, signal.SIGKILL)

    return Fault("kill supervisor", cause, prepare)


def _no_slot(ground: Ground) -> bool:
    return not ground.sql("SELECT 1 FROM pg_replication_slots WHERE slot_name = %s", _SLOT)


def _drop_slot(ground: Ground) -> None:
    """End the reader and drop the slot before the reader comes back."""

    def dropped() -> bool:
        ground.sql(
            "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots"
            " WHERE active_pid IS NOT NULL"
        )
        try:
            ground.sql("SELECT pg_drop_replication_slot(%s)", _SLOT)
        except Exception:  # noqa: BLE001 -- the reader was faster
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
    changed = _config(ground) | {"heartbeat.interval.ms": "7777"}
    ground.connect("PUT", f"{_CONNECTOR}/config", json=changed).raise_for_status()


def _config_differs(ground: Ground) -> bool:
    return _config(ground).get("heartbeat.interval.ms") == "7777"


def _ask_connect(method: str, path: str) -> Cause:
    def ask(ground: Ground) -> None:
        ground.connect(method, f"{_CONNECTOR}{path}").raise_for_status()

    return ask


def _topic_named(ground: Ground, part: str) -> str:
    names = ground.admin.list_topics(timeout=20).topics
    return next(str(name) for name in sorted(names) if name == part or name.endswith(part))


def _remove_topic(part: str) -> Fault:
    def prepare(ground: Ground) -> Truth:
        name = _topic_named(ground, part)
        return lambda now: name not in now.admin.list_topics(timeout=20).topics

    def cause(ground: Ground) -> None:
        ground.admin.delete_topics([_topic_named(ground, part)])[
            _topic_named(ground, part)
        ].result()

    return Fault(f"remove topic {part.lstrip('-')}", cause, prepare)


def _group(ground: Ground) -> str:
    groups = ground.admin.list_consumer_groups(request_timeout=20).result().valid
    return next(str(g.group_id) for g in groups if g.group_id.startswith("inventory-v"))


def _remove_group(ground: Ground) -> None:
    """Delete the workers' group; the broker allows that only without members."""
    name = _group(ground)
    ground.inventory("down")
    ground.inventory("up", "--detach", "--only", "kafka")

    def deleted() -> bool:
        try:
            ground.admin.delete_consumer_groups([name])[name].result()
        except KafkaException:
            return False
        return True

    wait_for(deleted, f"group {name} without members", _GROUP_S)
    ground.inventory("down")
    ground.inventory("up", "--detach")


def _flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)


def _newest(folder: Path, pattern: str) -> Path:
    found: list[Path] = wait_for(lambda: sorted(folder.rglob(pattern)), f"{pattern} in {folder}")
    return max(found, key=lambda file: file.stat().st_mtime)


def _damage_snapshots(ground: Ground) -> None:
    wait_for(lambda: list((ground.home / "workers").rglob("*.snapshot")), "a snapshot")
    for file in (ground.home / "workers").rglob("*.snapshot"):
        _flip(file)
    ground.inventory("workers", "restart", "--rolling")


def _damage_archive(ground: Ground) -> None:
    _flip(_newest(ground.home / "archive", "*.parquet"))
    done = ground.inventory("backfill", "run")
    if done.code == 0:
        problem = "backfill run took a damaged archive"
        raise NotReached(problem)


def _archive_damaged(ground: Ground) -> bool:
    return ground.inventory("backfill", "run").code != 0


def _fill(ground: Ground) -> None:
    with (ground.home / "filler").open("wb") as file:
        try:
            while True:
                file.write(b"\0" * (1 << 20))
                file.flush()
        except OSError:
            return


def _disk_full(ground: Ground) -> bool:
    try:
        (ground.home / ".space").write_bytes(b"\0" * (1 << 20))
    except OSError:
        return True
    finally:
        (ground.home / ".space").unlink(missing_ok=True)
    return False


def all_faults() -> tuple[Fault, ...]:
    """Return every fault, those that cost history last."""
    asked = partial(_ask_connect, "PUT")
    away: Callable[[Ground], Truth] = lambda _ground: _connector_away  # noqa: E731 -- one for four
    return (
        *_processes(),
        *(Fault(f"poison: {kind.name}", kind.send) for kind in poison.KINDS),
        Fault("pause connector", asked("/pause"), away),
        Fault("stop connector", asked("/stop"), away),
        Fault("delete connector", _ask_connect("DELETE", ""), away),
        Fault("change connector", _change_config, lambda _ground: _config_differs),
        Fault("damage snapshots", _damage_snapshots),
        Fault("remove group", _remove_group),
        _remove_topic("-on_hand-changelog"),
        _supervisor(),
        Fault(
            "fill disk",
            _fill,
            lambda _ground: _disk_full,
            undo=lambda ground: (ground.home / "filler").unlink(missing_ok=True),
        ),
        Fault("damage archive", _damage_archive, lambda _ground: _archive_damaged),
        Fault(
            "drop publication",
            _drop_publication,
            lambda _ground: _no_publication,
        ),
        Fault("drop slot", _drop_slot, lambda _ground: _no_slot),
        _remove_topic("stock.events"),
    )
