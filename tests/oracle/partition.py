"""One partition: admission (section 4, 11.2), keys, and the printed lines."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from tests.oracle.arithmetic import EDGE, SECOND
from tests.oracle.columns import TABLES, Limit, Row
from tests.oracle.key import Change, Key, Refused, Told
from tests.oracle.limits import checked
from tests.oracle.prices import in_force

Record = dict[str, Any]
RING_US = 120 * SECOND
LOCATION = re.compile(r"[A-Z0-9-]{1,24}")
HEARTBEAT = re.compile(r"~heartbeat\|[0-9]+")


def is_row(image: object) -> bool:
    if not isinstance(image, dict):
        return False
    number = image.get("id")
    return isinstance(number, int) and not isinstance(number, bool)


def is_key(table: str, key: str) -> bool:
    """Return True if the key has the form of section 0. Only heartbeats have another form."""
    if HEARTBEAT.fullmatch(key):
        return table == "pipeline_heartbeat"
    location, bar, sku = key.partition("|")
    if not bar or not LOCATION.fullmatch(location) or "|" in sku:
        return False
    return 1 <= len(sku) <= 32 and sku.isprintable() and sku == sku.strip(" ")


class Admission:
    """Identities and times that a partition needs to judge whether a record is new."""

    def __init__(self) -> None:
        self.members: list[tuple[tuple[Any, ...], int]] = []
        self.newest: int | None = None
        self.highest_lsn: int | None = None
        self.streaming = False

    def judge(self, record: Record) -> str | None:
        """Return None for a new record, "resent", or the reason code of an admission rule."""
        images = [i for i in (record["before"], record["after"]) if i is not None]
        if abs(record["commit_us"]) > EDGE or not all(is_row(image) for image in images):
            return "malformed"
        snapshot = record["op"] == "r"
        image = record["after"] if record["after"] is not None else record["before"]
        lsn = None if snapshot else record["lsn"]
        identity = (record["table"], None if image is None else image["id"], lsn, record["op"])
        verdict = self._verdict(identity, record)
        if verdict != "resent":
            self.members.append((identity, record["commit_us"]))
        if self.newest is None or record["commit_us"] > self.newest:
            self.newest = record["commit_us"]
        if self.highest_lsn is None or record["lsn"] > self.highest_lsn:
            self.highest_lsn = record["lsn"]
        return verdict

    def _verdict(self, identity: tuple[Any, ...], record: Record) -> str | None:
        if self.newest is None or self.highest_lsn is None:
            return None
        edge = self.newest - RING_US
        if any(
            known == identity and (not self.streaming or commit >= edge)
            for known, commit in self.members
        ):
            return "resent"
        old = record["commit_us"] < edge and record["lsn"] <= self.highest_lsn
        return "before_dedupe_horizon" if old and record["op"] != "r" else None


class Model:
    """The reference model of one partition in generation 1."""

    def __init__(self) -> None:
        self.admission = Admission()
        self.keys: dict[str, Key] = {}

    def apply(self, record: Record) -> dict[str, Any]:
        """Fold one record. Return the line that `inventory fold` prints for it, as a dict."""
        streaming = self.admission.streaming
        verdict = self.admission.judge(record)
        if verdict != "malformed" and record["op"] in ("c", "u", "d"):
            self.admission.streaming = True
        if verdict == "resent":
            return line_of(record, "resent", Told())
        if verdict is not None:
            return line_of(record, f"rejected:{verdict}", Told())
        try:
            change = change_of(record, streaming=streaming)
            key = self.keys.get(change.key) or Key(change.key)
            key, told = key.apply(change)
        except Refused as refusal:
            return line_of(record, f"rejected:{refusal.args[0]}", Told())
        self.keys[change.key] = key
        return line_of(record, "applied", told)

    def states(self) -> list[dict[str, Any]]:
        return [{"key": name, "state": state_of(self.keys[name])} for name in sorted(self.keys)]


def change_of(record: Record, *, streaming: bool) -> Change:
    """Return the record with defaults. Raise Refused with the first reason of 11.2 that applies."""
    reason = shape_of(record, streaming=streaming)
    if reason is not None:
        raise Refused(reason)
    table, op = record["table"], record["op"]
    images: dict[str, Row | None] = {"before": None, "after": None}
    try:
        for name in used_images(op):
            images[name] = checked(table, record[name])
    except Limit:
        reason = "limit"
        raise Refused(reason) from None
    return Change(
        record["offset"],
        table,
        op,
        record["key"],
        images["before"],
        images["after"],
        record["commit_us"],
    )


def shape_of(record: Record, *, streaming: bool) -> str | None:
    """Return the first reason from `unknown_table` to `price_row_immutable`, or None."""
    table, op = record["table"], record["op"]
    if table not in TABLES:
        return "unknown_table"
    if op not in ("c", "u", "d", "r"):
        return "unknown_op"
    if op == "r" and streaming:
        return "snapshot_after_start"
    if op in ("u", "d") and record["before"] is None:
        return "no_before_image"
    if op in ("c", "u", "r") and record["after"] is None:
        return "no_after_image"
    if not keys_match(record):
        return "key_mismatch"
    if table == "price_change" and op in ("u", "d"):
        return "price_row_immutable"
    return None


def used_images(op: str) -> list[str]:
    """Return the names of the images that an operation uses. The other image is ignored."""
    return {"d": ["before"], "u": ["before", "after"]}.get(op, ["after"])


def keys_match(record: Record) -> bool:
    key = record["key"]
    if not is_key(record["table"], key):
        return False
    location, _, sku = key.partition("|")
    expected = {"inv_key": key, "location": location, "sku": sku}
    images = [record[name] for name in used_images(record["op"])]
    for image in images:
        for name, value in expected.items():
            if image.get(name) is not None and image[name] != value:
                return False
    return len({image["id"] for image in images}) == 1


def line_of(record: Record, verdict: str, told: Told) -> dict[str, Any]:
    """Return the output line of one input record."""
    outputs = []
    if told.reorder is not None:
        outputs.append(reorder_of(told))
    if told.price is not None:
        outputs.append(price_output_of(told))
    units, amount = told.late
    late = [{"units": units, "amount_minor": amount}] if units or amount else []
    return {"offset": record["offset"], "verdict": verdict, "late": late, "outputs": outputs}


def reorder_of(told: Told) -> dict[str, Any]:
    if told.reorder is None:
        return {}
    episode, said, name, numbers = (*told.reorder, told.numbers)
    return {
        "kind": "reorder",
        "id": name,
        "revision": episode.revision,
        "status": said.status,
        "q": said.q,
        **numbers,
        "flags": sorted(said.flags),
        "reason": said.reason,
    }


def price_output_of(told: Told) -> dict[str, Any]:
    said = told.price
    if said is None:
        return {}
    candidate = said.candidate
    return {
        "kind": "price",
        "id": said.id,
        "revision": said.revision,
        "status": said.status,
        "old": candidate.old,
        "new": candidate.new,
        "step": candidate.step,
        "signal": candidate.signal,
        "clamps": list(candidate.clamps),
        "effective_at_us": candidate.effective_at,
        "prior": candidate.prior,
        "reason": said.reason,
    }


def state_of(key: Key) -> dict[str, Any]:
    """Return the state of a key as `inventory fold` prints it."""
    rate, mad = key.rate_and_mad
    row = None if key.stream is None else in_force(key.timeline, key.stream)
    candidate = key.proposal.candidate
    return {
        "on_hand": key.ledger.on_hand(),
        "unavailable": key.unavailable,
        "on_order": key.on_order,
        "in_transit": key.in_transit,
        "allocated": key.allocated,
        "stock_known": key.stock_known,
        "sum_movements": key.ledger.sum_movements(),
        "sum_variances": key.ledger.sum_variances(),
        "shrink": key.ledger.shrink(),
        "stream_time_us": key.stream,
        "windows": {str(start): key.windows[start] for start in sorted(key.windows)},
        "rate": rate,
        "mad": mad,
        "observed_days": key.demand.observed_days,
        "quiet_windows": key.demand.quiet_windows,
        "rate_at_last_sale": key.demand.rate_at_last_sale,
        **key.printed_levels(),
        "episode": {
            "state": key.episode.state,
            "id": key.episode.id,
            "q": key.episode.q,
            "until_us": key.episode.until,
            "reason": key.episode.reason,
        },
        "price": {
            "in_force": None if row is None else row.price,
            "step": 0 if row is None else row.step,
            "proposal_id": key.proposal.id,
            "proposal_price": None if candidate is None else candidate.new,
        },
    }


def fold_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield one line per record of a history, then one line per key."""
    model = Model()
    for line in lines:
        if line.strip():
            yield json.dumps(model.apply(json.loads(line)), sort_keys=True)
    for state in model.states():
        yield json.dumps(state, sort_keys=True)
