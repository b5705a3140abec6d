"""Small builders of records, for vectors and for the generator."""

from typing import Any

from tests.oracle.arithmetic import DAY, HOUR, MINUTE, SECOND

Record = dict[str, Any]
KEY = "L|S"


def at(hour: int, minute: int = 0, second: int = 0, *, days: int = 0, date: int = 20_000) -> int:
    """Return a time in µs since 1970 UTC. `date` counts days since 1970."""
    return (date + days) * DAY + hour * HOUR + minute * MINUTE + second * SECOND


class History:
    """Records in log order. Each is committed alone, with a higher LSN than the record before."""

    def __init__(self, key: str = KEY, start: int = 0) -> None:
        self.key, self.offset = key, start
        self.records: list[Record] = []

    def put(
        self,
        table: str,
        op: str,
        commit: int,
        *,
        before: dict[str, Any] | None = None,
        after: dict[str, Any] | None = None,
    ) -> Record:
        record = {
            "offset": self.offset,
            "table": table,
            "op": op,
            "key": self.key,
            "before": before,
            "after": after,
            "lsn": 100 + self.offset,
            "commit_us": commit,
        }
        self.offset += 1
        self.records.append(record)
        return record


def sale(row_id: int, units: int, t: int, *, amount: int = 0, **more: Any) -> dict[str, Any]:
    row = {
        "id": row_id,
        "source": "till",
        "source_ref": str(row_id),
        "quantity_units": units,
        "amount_minor": amount,
        "occurred_at": t,
        "recorded_at": t,
    }
    return {**row, **more}


def count(row_id: int, units: int, t: int, **more: Any) -> dict[str, Any]:
    row = {
        "id": row_id,
        "units": units,
        "kind": "cycle",
        "status": "approved",
        "occurred_at": t,
        "recorded_at": t,
    }
    return {**row, **more}


def adjustment(row_id: int, reason: str, units: int, t: int) -> dict[str, Any]:
    return {
        "id": row_id,
        "reason": reason,
        "quantity_units": units,
        "occurred_at": t,
        "recorded_at": t,
    }


def shipment(row_id: int, leg: str, status: str, t: int, **more: Any) -> dict[str, Any]:
    row = {"id": row_id, "leg": leg, "status": status, "recorded_at": t}
    if status != "planned":
        row["shipped_at"] = t
    if status == "received":
        row["received_at"] = t
    return {**row, **more}


def order(row_id: int, ordered: int, t: int, **more: Any) -> dict[str, Any]:
    row = {
        "id": row_id,
        "order_ref": f"PO{row_id}",
        "supplier": "ACME",
        "status": "sent",
        "ordered_units": ordered,
        "ordered_at": t,
        "recorded_at": t,
    }
    return {**row, **more}


def policy(t: int, **more: Any) -> dict[str, Any]:
    return {"id": 1, "status": "active", "recorded_at": t, **more}


def decision(row_id: int, name: str, action: str, t: int, **more: Any) -> dict[str, Any]:
    return {"id": row_id, "reorder_id": name, "action": action, "recorded_at": t, **more}
