"""Alarms of the page System. Each states a present problem, its start, and what to do."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext

from cdc.contracts.times import us_of
from ledger.kernel.rows import select_one
from ledger.messages import gettext_noop, translated
from ledger.webhooks.queries import MOST_COUNTED, Trouble
from webui.desks.system.probes import DOWN, OK, Link
from webui.desks.system.proofs import Proof, Prover
from webui.desks.system.slot import Slot
from webui.readmodel.figures import bytes_text, counted_text
from webui.readmodel.price_stop import price_stop
from webui.translation.messages import translate

BAD, WARN = "bad", "warn"
RECENT_US: Final = 3_600_000_000
_RESTART_CAPTURE: Final = "inventory restart capture"
# By stage: (what to do if the stage isn't OK, command to execute), as in docs/roles/operator.md.
ADVICE: Final = {
    "Postgres": (
        gettext_noop("Restart the service that writes heartbeats."),
        "inventory restart heartbeat",
    ),
    "Debezium": (
        gettext_noop(
            "The service “capture” repairs Debezium. If the repair takes over a minute, restart "
            "“capture”."
        ),
        _RESTART_CAPTURE,
    ),
    "Kafka": (gettext_noop("Restart the broker."), "inventory restart kafka"),
    "Workers": (
        gettext_noop("Wait for the restores. Then restart each worker that is still not ready."),
        "inventory workers",
    ),
    "Read model": (
        gettext_noop("Restart the projector."),
        "inventory restart projector",
    ),
    "Screen": (gettext_noop("Restart the web process."), "inventory restart web"),
    "By rule": (
        gettext_noop("Restart the automation. Until then no rule approves orders or prices."),
        "inventory restart automation",
    ),
}
_NEW_GENERATION: Final = "inventory down && inventory generation --yes && inventory up --detach"


@dataclass(frozen=True, slots=True)
class Alarm:
    """One alarm. `severity` is `BAD` or `WARN`. `command` or `url` may be empty.

    `since_us` is the start of the problem in µs since 1970 UTC, None if it isn't known.
    """

    severity: str
    what: str
    since_us: int | None
    action: str
    command: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The number of rejected records not settled, at most 1,000, and the time of the oldest."""

    records: int
    oldest: datetime | None


_REJECTED: Final = """
SELECT count(*)::int AS records, min(seen_at) AS oldest FROM (
    SELECT r.seen_at FROM read_model.rejected r
    WHERE NOT EXISTS (SELECT FROM app.rejected_mark m WHERE m.record_id = r.id) LIMIT 1000) few
"""


def ranked(alarms: Iterable[Alarm]) -> list[Alarm]:
    """Return first the alarms with severity `BAD`, then all others.

    Within a severity, the oldest alarm comes first, and alarms without a time come last.
    """
    return sorted(alarms, key=lambda each: (each.severity != BAD, each.since_us or 1 << 62))


def of_stages(links: Sequence[Link], now_us: int) -> list[Alarm]:
    """Return an alarm for each stage of the pipeline that isn't OK."""
    return [_of_stage(link, now_us) for link in links if link.state != OK]


def _of_stage(link: Link, now_us: int) -> Alarm:
    action, command = ADVICE[link.advice_of or link.name]
    return Alarm(
        severity=BAD if link.state == DOWN else WARN,
        what=f"{gettext(link.name)}: {translated(link.summary, translate)}",
        since_us=_since(link, now_us),
        action=action,
        command=command,
    )


def _since(link: Link, now_us: int) -> int | None:
    """Return the start of a stage's problem in µs since 1970 UTC, or None.

    It is the time of the stage's newest data. If that time isn't known, it is the time of the
    stage's last error, unless this error is more than an hour old.
    """
    if link.age_us is not None:
        return now_us - link.age_us
    at_us = us_of(link.error.at) if link.error else 0
    return at_us if now_us - at_us < RECENT_US else None


def of_slot(slot: Slot | None) -> list[Alarm]:
    """Return an alarm if the slot has lost WAL, or if it retains more WAL than a threshold."""
    if slot is None or slot.state == "ok":
        return []
    if slot.retained_bytes is None:
        what = gettext(
            "Postgres discarded WAL that Debezium has not read. The log lacks these changes."
        )
        return [Alarm(BAD, what, None, gettext("Capture all rows again."), _NEW_GENERATION)]
    what = gettext(
        "The slot retains %(retained_text)s of WAL. At %(limit_bytes)s Postgres discards it."
    ) % {"retained_text": slot.retained_text, "limit_bytes": bytes_text(slot.limit_bytes)}
    severity = BAD if slot.state == DOWN else WARN
    action = gettext("Start Connect. If the capture is paused, resume it.")
    return [Alarm(severity, what, None, action, "inventory capture resume")]


def of_partitions(states: Sequence[str]) -> list[Alarm]:
    """Return an alarm for partitions without a worker, and one for restoring or slow ones.

    `states` has the state of each partition: `ok`, `slow` (restoring, or more than 30 s behind) or
    `down` (without a worker).
    """
    without, slow = states.count("down"), states.count("slow")
    url = reverse("workers")
    found: list[Alarm] = []
    if without:
        what = gettext("%(without)s without a worker") % {
            "without": counted_text(without, "partition")
        }
        found.append(Alarm(BAD, what, None, gettext("Start a worker."), "inventory workers", url))
    if slow:
        what = gettext("%(slow)s restoring or more than 30 s behind") % {
            "slow": counted_text(slow, "partition")
        }
        found.append(
            Alarm(WARN, what, None, gettext("Wait for the restore."), "inventory workers", url)
        )
    return found


def of_proofs(proof: Proof | None, prover: Prover) -> list[Alarm]:
    """Return an alarm if the newest proof found a difference, or if a nightly proof is overdue."""
    url = reverse("proofs")
    if proof is not None and not proof.is_equal:
        keys, decisions = proof.keys_differing, proof.decisions_differing
        what = gettext("The nightly proof found differences in %(keys)s and %(decisions)s.") % {
            "keys": counted_text(keys, "key"),
            "decisions": counted_text(decisions, "proposal"),
        }
        action, command = (
            gettext("Compute history again in full."),
            "inventory backfill prove --full",
        )
        return [Alarm(BAD, what, us_of(proof.finished_at), action, command, url)]
    if prover.is_overdue(proof):
        since = us_of(proof.finished_at) if proof else None
        what = gettext("No nightly proof for more than 36 hours.")
        return [Alarm(WARN, what, since, gettext("Prove now."), "inventory backfill prove", url)]
    return []


def of_rejected() -> list[Alarm]:
    """Return an alarm if there are rejected records that are not settled."""
    found = select_one(_REJECTED, {}, Rejected)
    if found is None or not found.records:
        return []
    more = gettext("or more ") if found.records >= 1000 else ""  # noqa: PLR2004 -- the query's limit
    what = gettext("%(records)s %(more)swithout effect") % {
        "records": counted_text(found.records, "rejected record"),
        "more": more,
    }
    since = us_of(found.oldest) if found.oldest else None
    url = f"{reverse('rejected-records')}?{urlencode({'state': 'waiting'})}"
    return [
        Alarm(
            WARN,
            what,
            since,
            gettext("Dismiss each record, or send it again if its page offers this."),
            url=url,
        )
    ]


def of_webhooks(found: Trouble) -> list[Alarm]:
    """Return an alarm for webhooks that the sender has stopped, and one for dead messages."""
    url, raised = reverse("webhooks"), list[Alarm]()
    if found.halted:
        what = gettext("%(webhooks)s stopped by the sender; events wait") % {
            "webhooks": counted_text(found.halted, "webhook")
        }
        action = gettext("Read why each webhook was stopped, then resume or delete it.")
        raised.append(Alarm(WARN, what, None, action, url=url))
    if found.messages:
        more = gettext(" or more") if found.messages >= MOST_COUNTED else ""
        what = gettext("%(messages)s%(more)s given up") % {
            "messages": counted_text(found.messages, "webhook message"),
            "more": more,
        }
        since = us_of(found.oldest) if found.oldest else None
        action = gettext("Repair the receiver, then send the messages again.")
        raised.append(Alarm(WARN, what, since, action, url=url))
    return raised


def of_stop() -> list[Alarm]:
    """Return an alarm while rule-made prices are stopped."""
    found = price_stop()
    if found is None or not found.is_stopped:
        return []
    what = gettext("%(updated_by)s has stopped all rule-made prices.") % {
        "updated_by": found.updated_by or gettext("The system")
    }
    action = gettext("Allow rule-made prices again when the reason for the stop is gone.")
    return [Alarm(WARN, what, us_of(found.updated_at), action, url=reverse("prices"))]
