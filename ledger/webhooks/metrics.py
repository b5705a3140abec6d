"""Metrics of the sender of webhooks, in the text format of Prometheus.

The sender counts its attempts. At each request of `/metrics` it reads from Postgres the figures
about webhooks and about waiting and dead messages. No label has an address, an account or an item:
`kind` is the first part of a message's type (need, price, order; webhook for tests and gaps), and
`result` is one of `RESULTS`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import structlog
from prometheus_client import CollectorRegistry, Counter, ProcessCollector, start_http_server
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from cdc.figures import Figure
from ledger.kernel.unscoped_rows import read_all
from ledger.webhooks.posting import RESULTS, Answer

KINDS: Final = ("need", "price", "order", "webhook")
STATES: Final = ("active", "stopped")

log = structlog.get_logger(__name__)

_ATTEMPTS: Final = Figure(
    "inventory_webhook_attempts_total",
    "counter",
    ("kind", "result"),
    "Attempts to deliver a message: `delivered`, `refused` (the receiver's status was not 2xx), "
    "`timeout`, or `unreachable` (no connection)",
)
_ENDPOINTS: Final = Figure(
    "inventory_webhook_endpoints",
    "gauge",
    ("state",),
    "Webhooks: `active`, or `stopped` by a person or by the sender",
)
_WAITING: Final = Figure(
    "inventory_webhook_waiting_messages",
    "gauge",
    ("kind",),
    "Messages of active webhooks that are not delivered yet",
)
_OLDEST: Final = Figure(
    "inventory_webhook_oldest_waiting_seconds",
    "gauge",
    ("kind",),
    "Age of the oldest waiting message of the active webhooks; 0 if none waits",
)
_DEAD: Final = Figure(
    "inventory_webhook_given_up_messages",
    "gauge",
    ("kind",),
    "Dead messages: the sender no longer tries to deliver them; a person may send them again",
)
_GAUGES: Final = (_ENDPOINTS, _WAITING, _OLDEST, _DEAD)
FIGURES: Final = (_ATTEMPTS, *_GAUGES)

# Waiting messages of stopped webhooks are left out, because a person stopped the webhook or has to
# resume it. Their age would hide a delay of the active webhooks.
_MESSAGES: Final = """
SELECT split_part(m.type, '.', 1) AS kind,
       count(*) FILTER (WHERE m.status = 'waiting' AND w.status = 'active') AS waiting,
       count(*) FILTER (WHERE m.status = 'dead') AS dead,
       coalesce(extract(epoch FROM clock_timestamp() - min(m.queued_at)
           FILTER (WHERE m.status = 'waiting' AND w.status = 'active')), 0)::float8 AS oldest_s
FROM app.webhook_message m JOIN app.webhook w ON w.id = m.webhook_id
WHERE w.status <> 'deleted' GROUP BY 1
"""
_HOOKS: Final = """
SELECT status AS state, count(*) AS hooks FROM app.webhook WHERE status <> 'deleted' GROUP BY 1
"""


@dataclass(frozen=True, slots=True)
class _Messages:
    kind: str
    waiting: int
    dead: int
    oldest_s: float


@dataclass(frozen=True, slots=True)
class _Hooks:
    state: str
    hooks: int


class SenderMetrics:
    """The metrics of one sender, with a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)  # CPU seconds, resident bytes, open files
        self._attempts = Counter(
            _ATTEMPTS.name, _ATTEMPTS.about, _ATTEMPTS.labels, registry=self.registry
        )
        # Create each series with 0. Prometheus doesn't see the first increase of a series that
        # begins at 1.
        for kind in KINDS:
            for result in RESULTS:
                self._attempts.labels(kind, result)
        self.registry.register(_Queue())

    def attempted(self, message_type: str, answer: Answer) -> None:
        """Count an attempt to deliver a message of this type, for example `need.opened`."""
        self._attempts.labels(kind_of(message_type), answer.result).inc()


class _Queue(Collector):
    """The figures that each request of `/metrics` reads from Postgres."""

    def describe(self) -> Iterator[Metric]:
        """Yield the gauges without values, so that their registration needs no database."""
        for figure in _GAUGES:
            yield _gauge(figure)

    @override
    def collect(self) -> Iterator[Metric]:
        """Yield the gauges; yield none while Postgres can't be reached."""
        from django.db import Error, connection  # noqa: PLC0415 -- after setup

        try:
            found = {row.kind: row for row in read_all(_Messages, _MESSAGES)}
            hooks = {row.state: row.hooks for row in read_all(_Hooks, _HOOKS)}
        except Error as problem:
            log.warning("metrics_without_database", error=str(problem).strip())
            return
        finally:
            connection.close()  # each request has a thread of its own
        none = _Messages("", 0, 0, 0.0)
        rows = {kind: found.get(kind, none) for kind in KINDS}
        yield _gauge(_ENDPOINTS, {state: hooks.get(state, 0) for state in STATES})
        yield _gauge(_WAITING, {kind: row.waiting for kind, row in rows.items()})
        yield _gauge(_OLDEST, {kind: row.oldest_s for kind, row in rows.items()})
        yield _gauge(_DEAD, {kind: row.dead for kind, row in rows.items()})


def kind_of(message_type: str) -> str:
    """Return the kind of a message: `need` for `need.opened`."""
    return message_type.partition(".")[0]


def _gauge(figure: Figure, values: dict[str, float] | None = None) -> GaugeMetricFamily:
    gauge = GaugeMetricFamily(figure.name, figure.about, labels=figure.labels)
    for label, value in (values or {}).items():
        gauge.add_metric([label], value)
    return gauge


@contextmanager
def served(metrics: SenderMetrics, host: str, port: int) -> Iterator[None]:
    """Answer `/metrics` on `host` and `port` until the block ends; port 0 serves nothing.

    If the port can't be used, log a warning and continue: deliveries matter more than metrics.
    """
    if not port:
        yield
        return
    try:
        server, thread = start_http_server(port, host, metrics.registry)
    except OSError as problem:
        log.warning("metrics_not_served", host=host, port=port, error=str(problem))
        yield
        return
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
