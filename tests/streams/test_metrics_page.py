"""Names of metrics follow Prometheus, and the reference page lists each correctly."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from ledger.webhooks.metrics import FIGURES, SenderMetrics
from streams.query.gauges import register
from streams.query.metrics import Metrics
from streams.query.server import QueryServer
from tests.streams.served import Worker, stocked

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "reference" / "metrics.md"
OTHERS = (DOCS / "metrics.md", DOCS / "roles" / "operator.md")
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| ([^|]*) \| (.*) \|$", re.MULTILINE)
UNITS = ("seconds", "bytes", "records", "keys", "partitions")
# Metrics without a unit: an index, a count of the things in the name, or the values 0 and 1.
COUNTED = (
    "generation",
    "logic_revision",
    "ready",
    "keys_in_use",
    "partitions_ready",
)
ASSIGNED = ("partitions_assigned",)
LABELS = {*("partition", "verdict", "reason", "how", "route", "code", "clamp")} | {
    *("kind", "result", "state")
}


def registry() -> Any:
    """Return all metrics of a worker, with a sample of each labelled one."""
    worker = Worker("worker-1", stocked())
    QueryServer(worker)
    return worker.metrics.registry


def families() -> dict[str, Any]:
    """Return a worker's families by sample name, except those of the process."""
    return {
        family.name: family
        for family in registry().collect()
        if family.name.startswith("inventory_")
    }


def labels_of(name: str) -> str:
    """Return the label names of the metric from the registry."""
    metrics = Worker("worker-1", stocked()).metrics
    known = metrics.registry._names_to_collectors.get(name)
    return ", ".join(getattr(known, "_labelnames", ()))


def of_partitions() -> set[str]:
    """Return the gauges of partitions. `test_metrics` compares the labels of their samples."""
    readings = register(Worker("worker-1", stocked()))
    return {figure.name for figure in readings.figures() if "partition" in figure.labels}


def told() -> Iterator[tuple[str, str, str, str]]:
    partitioned = of_partitions()
    for name, family in families().items():
        shown = f"{name}_total" if family.type == "counter" else name
        labels = labels_of(name) or ("partition" if name in partitioned else "")
        yield shown, family.type, labels, family.documentation
    for figure in FIGURES:  # of the sender of webhooks
        yield figure.name, figure.kind, ", ".join(figure.labels), figure.about


def test_the_metrics_page_lists_each_metric_with_kind_labels_and_meaning() -> None:
    page = {
        (name, kind, labels, about) for name, kind, labels, about in ROW.findall(PAGE.read_text())
    }

    expected = set(told())
    rows = "\n".join(f"| `{n}` | {k} | {ls} | {about} |" for n, k, ls, about in sorted(expected))
    assert page == expected, f"{PAGE} should have these rows:\n{rows}"


@pytest.mark.parametrize("page", OTHERS, ids=lambda page: page.name)
def test_no_page_names_an_unknown_metric(page: Path) -> None:
    known = {name for name, _, _, _ in told()}

    assert set(re.findall(r"\binventory_\w+", page.read_text("utf-8"))) <= known


def test_metric_names_end_in_their_unit_and_counters_in_total() -> None:
    for name, family in families().items():
        assert re.fullmatch(r"inventory(_[a-z]+)+", name)
        assert family.documentation[0].isupper() or family.documentation[0].isdigit()
        if family.type == "gauge":
            plain = name.removeprefix("inventory_")
            is_allowed = plain.endswith(UNITS) or plain in (*COUNTED, *ASSIGNED)
            assert is_allowed, f"{name} has no unit of UNITS; if it needs none, add it to COUNTED"
        if family.type == "histogram":
            assert name.endswith(("_seconds", "_records")), name
    text = generate_latest(registry()).decode()
    for line in text.splitlines():
        if line.startswith("# TYPE inventory_") and line.endswith(" counter"):
            assert line.split()[2].endswith("_total"), line


def test_the_webhook_sender_registers_each_listed_metric() -> None:
    known = SenderMetrics().registry._names_to_collectors

    for figure in FIGURES:
        assert figure.name in known
        assert re.fullmatch(r"inventory_webhook(_[a-z]+)+", figure.name)
        assert figure.name.endswith(("_total", "_messages", "_seconds", "_endpoints"))
        assert figure.about[0].isupper()


def test_every_family_has_one_help_and_one_type_before_its_samples() -> None:
    lines = generate_latest(registry()).decode().splitlines()

    for name in families():
        shown = {name, f"{name}_total"}
        assert sum(line.split()[2] in shown for line in lines if line.startswith("# HELP")) == 1
        assert sum(line.split()[2] in shown for line in lines if line.startswith("# TYPE")) == 1


def test_histogram_buckets_rise_and_include_the_alarm_bounds() -> None:
    bounds = {
        name: collector._kwargs["buckets"]
        for name, collector in registry()._names_to_collectors.items()
        if name in families() and families()[name].type == "histogram"
    }
    assert all(list(found) == sorted(set(found)) for found in bounds.values())
    # Alarms of docs/roles/operator.md, and the goal for the longest wait of a query.
    assert 1 in bounds["inventory_freshness_seconds"]
    assert 0.25 in bounds["inventory_chunk_seconds"]
    assert {0.05, 0.25} <= set(bounds["inventory_query_seconds"])
    assert 0.05 in bounds["inventory_event_loop_delay_seconds"]


def test_metric_labels_are_from_a_fixed_list_and_values_are_escaped() -> None:
    metrics = Metrics()
    odd = 'a "quoted"\\ one\nwith a line'
    metrics.answered(odd, 200, 0.01)

    text = generate_latest(metrics.registry).decode()

    (family,) = (
        family
        for family in text_string_to_metric_families(text)
        if family.name == "inventory_queries"
    )
    assert {sample.labels["route"] for sample in family.samples} == {odd}
    found = {label for _, _, labels, _ in told() for label in labels.split(", ") if label}
    assert found <= LABELS, "add a label with few values to LABELS"
