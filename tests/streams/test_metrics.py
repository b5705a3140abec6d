"""Metrics of a worker in the text format of Prometheus."""

import asyncio
import time
from dataclasses import replace
from urllib.parse import quote

import pytest
from prometheus_client.parser import text_string_to_metric_families

from cdc.figures import Figure
from inventory.model.ids import InvKey, Position, ProposalId
from inventory.model.state import KeyState
from inventory.revision import LOGIC_REVISION
from streams.engine.effects import Effects
from streams.engine.snapshot import freeze
from streams.query.gauges import register
from streams.query.metrics import Metrics
from tests.cdc import test_records
from tests.streams.served import KEYS, Fleet, Worker, fleet, halves, partition, stocked
from tests.streams.test_suspensions import beat

PRICE, REORDER = test_records.PRICE.output, test_records.REORDER.output

Sample = tuple[str, tuple[tuple[str, str], ...]]
Families = dict[str, dict[Sample, float]]


async def scrape(found: Fleet, number: int) -> Families:
    """Return family → (sample name, labels) → value from a worker's `/metrics`."""
    text = (await found.ask(number, "/metrics", token=None)).body
    families: Families = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation, family.name
        samples = families.setdefault(family.name, {})
        for sample in family.samples:
            samples[sample.name, tuple(sorted(sample.labels.items()))] = sample.value
    return families


def whole(families: Families, name: str) -> float:
    """Return the only sample of a family without labels."""
    (figure,) = (v for (sample, _), v in families[name].items() if not sample.endswith("_created"))
    return figure


def of_partition(families: Families, name: str, number: int) -> float:
    return families[name][name, (("partition", str(number)),)]


def family_of(figure: Figure) -> str:
    return figure.name.removesuffix("_total")


def by_labels(samples: dict[Sample, float], *names: str) -> dict[str, float]:
    """Return {label values joined by spaces: count} of the samples whose names end in `_total`."""
    counts = {sample: count for sample, count in samples.items() if sample[0].endswith("_total")}
    return {
        " ".join(dict(labels)[n] for n in names): count for (_, labels), count in counts.items()
    }


def test_metrics_show_the_state_of_each_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with fleet(monkeypatch, *await halves(stocked())) as found:
            worker = found.workers[0]
            beat(worker, 4)
            await worker.work()
            worker.ends[4] += 3

            seen = await scrape(found, 0)

            owned = worker.ownership.ready[4]
            assert {labels for _, labels in seen["inventory_keys"]} == {
                (("partition", str(number)),) for number in range(0, 12, 2)
            }
            assert of_partition(seen, "inventory_keys", 4) == len(owned.published)
            assert of_partition(seen, "inventory_keys_in_use", 4) == len(owned.published)
            assert of_partition(seen, "inventory_rest_bytes", 4) == 0
            assert of_partition(seen, "inventory_open_keys", 4) == len(owned.open_keys)
            ring = of_partition(seen, "inventory_dedupe_ring_records", 4)
            assert ring == len(owned.partition.ring) > 0
            assert of_partition(seen, "inventory_lag_records", 4) == 3
            age = of_partition(seen, "inventory_as_of_age_seconds", 4)
            assert owned.as_of_us is not None
            assert 0 < age <= time.time() - owned.as_of_us / 1e6
            for name in ("inventory_lag_seconds", "inventory_heartbeat_age_seconds"):
                assert of_partition(seen, name, 4) == pytest.approx(age, abs=60)

    asyncio.run(run())


def test_metric_samples_have_the_registered_labels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    figures = list(register(Worker("apart", stocked())).figures())

    async def run() -> None:
        async with fleet(monkeypatch, *await halves(stocked())) as found:
            worker = found.workers[0]
            beat(worker, 4)
            await worker.work()
            worker.snapshot_writer.counts.at_s[4] = time.monotonic()

            seen = await scrape(found, 0)

            for figure in figures:
                labels = {tuple(dict(labels)) for _, labels in seen[family_of(figure)]}
                assert labels <= {figure.labels}, (
                    f"{figure.name}: use `one` or `_each` of gauges.py"
                )

    asyncio.run(run())


def test_states_at_rest_are_shown_with_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with fleet(monkeypatch, *await halves(stocked())) as found:
            owned = found.workers[0].ownership.ready[4]
            for _keys in freeze(owned):
                pass

            seen = await scrape(found, 0)

            payloads = [len(block.payload) for block in owned.cold.blocks.values()]
            assert of_partition(seen, "inventory_rest_bytes", 4) == sum(payloads) > 0

    asyncio.run(run())


def test_metrics_show_the_state_of_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> Families:
        async with fleet(monkeypatch, *await halves(stocked())) as found:
            beat(found.workers[0], 4)
            await found.workers[0].work()
            return await scrape(found, 0)

    seen = asyncio.run(run())

    figures = {
        "inventory_partitions_assigned": 6,
        "inventory_partitions_ready": 6,
        "inventory_ready": 1,
        "inventory_rebalances": 1,
        "inventory_restores": 6,
        "inventory_restores_kept": 0,
        "inventory_transactions": 7,
        "inventory_transaction_seconds": 0.5,
        "inventory_logic_revision": LOGIC_REVISION,
        "inventory_generation": 1,
        "inventory_watchdog_silent_seconds": 0,
        "inventory_watchdog_limit_seconds": 30,
    }
    assert {name: whole(seen, name) for name in figures} == figures
    assert whole(seen, "process_cpu_seconds") > 0
    assert whole(seen, "process_resident_memory_bytes") > 1 << 20
    applied = seen["inventory_records"]["inventory_records_total", (("verdict", "applied"),)]
    assert applied == sum(4 for key in KEYS if partition(key) % 2 == 0) + 1
    assert seen["inventory_freshness_seconds"]["inventory_freshness_seconds_count", ()] == 1
    assert seen["inventory_chunk_records"]["inventory_chunk_records_sum", ()] == applied


def test_restored_records_and_kept_partitions_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        broker = stocked()
        await halves(broker)
        third = Worker("worker-3", broker)
        await third.take(range(12))
        await third.take(range(12))
        async with fleet(monkeypatch, third) as found:
            seen = await scrape(found, 0)

        # Each key has one level and one window row in the changelogs.
        assert whole(seen, "inventory_restored_records") == 2 * len(KEYS)
        assert whole(seen, "inventory_restores") == 24
        with_keys = {partition(key) for key in KEYS}
        assert whole(seen, "inventory_restores_kept") == len(with_keys)
        assert whole(seen, "inventory_restore_seconds") > 0

    asyncio.run(run())


def test_metrics_count_queries_by_route_and_never_by_key(monkeypatch: pytest.MonkeyPatch) -> None:
    route = "/iq/v1/store/{store}/{key}"
    odd = next(key for key in KEYS if partition(key) % 2 == 1)

    async def run() -> None:
        async with fleet(monkeypatch, *await halves(stocked())) as found:
            for key in KEYS:
                await found.ask(0, f"/iq/v1/store/on-hand/{quote(key)}")
            await found.ask(0, "/iq/v1/store/on-hand/bad")
            await found.ask(0, "/some/where/else")
            found.workers[1].ownership.ready.pop(partition(odd))
            await found.ask(0, f"/iq/v1/store/on-hand/{quote(odd)}")
            await found.workers[1].take([])
            await found.ask(0, f"/iq/v1/store/on-hand/{quote(odd)}")
            await found.ask(0, f"/iq/v1/store/on-hand/{quote(odd)}")

            seen = await scrape(found, 0)

            queries = by_labels(seen["inventory_queries"], "route", "code")
            own = {name: count for name, count in queries.items() if "partitions" not in name}
            assert own == {
                f"{route} 200": len(KEYS),
                f"{route} 400": 1,
                f"{route} 503": 3,
                "unknown 404": 1,
            }
            forwards = by_labels(seen["inventory_query_forwards"], "code")
            others = sum(partition(key) % 2 for key in KEYS)
            assert forwards == {"200": others, "503": 1, "421": 1, "none": 1}

    asyncio.run(run())


def test_metrics_show_snapshots_and_the_time_span_of_the_dedupe_ring(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> Families:
        async with fleet(monkeypatch, *await halves(stocked())) as found:
            counts = found.workers[0].snapshot_writer.counts
            counts.add_written(4, 0.25, time.monotonic() - 5)
            counts.failed, counts.discarded = 2, 3
            return await scrape(found, 0)

    seen = asyncio.run(run())

    figures = {
        "inventory_snapshots_written": 1,
        "inventory_snapshots_failed": 2,
        "inventory_snapshots_discarded": 3,
        "inventory_snapshot_seconds": 0.25,
    }
    assert {name: whole(seen, name) for name in figures} == figures
    assert of_partition(seen, "inventory_snapshot_age_seconds", 4) == pytest.approx(5, abs=60)
    assert len(seen["inventory_snapshot_age_seconds"]) == 1
    assert of_partition(seen, "inventory_dedupe_ring_seconds", 4) == 3


def test_metrics_count_price_clamps_by_name() -> None:
    metrics, effects = Metrics(), Effects()
    state = KeyState(InvKey("S1|A"), Position(1, 0))
    effects.add_decisions((replace(PRICE, clamps=("floor", "ending")), REORDER), state)
    effects.add_decisions((replace(PRICE, id=ProposalId("1-2-3"), clamps=("floor",)),), state)

    metrics.chunk(effects, 0.01)

    value = metrics.registry.get_sample_value
    assert value("inventory_price_clamps_total", {"clamp": "floor"}) == 2
    assert value("inventory_price_clamps_total", {"clamp": "ending"}) == 1
    assert value("inventory_decisions_total", {"how": "made"}) == 3


def test_late_starts_of_the_event_loop_are_never_negative() -> None:
    metrics = Metrics()

    metrics.loop_delayed(-0.001)
    metrics.loop_delayed(0.2)

    name = "inventory_event_loop_delay_seconds"
    assert metrics.registry.get_sample_value(f"{name}_count") == 2
    assert metrics.registry.get_sample_value(f"{name}_sum") == pytest.approx(0.2)
