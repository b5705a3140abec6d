"""Comparison of two logic revisions without a broker: differences, and keys decided meanwhile."""

import json
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from cdc.contracts.progress import Progress
from cdc.contracts.topics import output_topics
from cdc.settings import Connections
from deploy.errors import StackError
from deploy.revisions import compare as comparing
from deploy.revisions import progress
from deploy.revisions.compare import Comparison
from deploy.revisions.decisions import Decisions
from deploy.revisions.shadow import Code, home_of, shadows
from deploy.stack.home import PROJECT, Home
from inventory.revision import LOGIC_REVISION
from tests.golden.workers import kept

BARRIER = {0: 100, 1: 100}
OURS, THEIRS = LOGIC_REVISION, LOGIC_REVISION + 1


def decision(**changes: Any) -> dict[str, Any]:
    """Return an open need, decided at offset 10 of partition 0."""
    released = (json.loads(line) for line in kept("reorder_event", 1))
    row = next(row for row in released if row["status"] == "open")
    place = {"generation": 1, "partition": 0, "offset": changes.pop("offset", 10)}
    return {**row, "position": place, **changes}


def side(revision: int, **by_key: dict[str, Any]) -> Decisions:
    newest = {("reorder", key): document for key, document in by_key.items()}
    return Decisions(Connections(), revision, newest)


def found(former: Decisions, fresh: Decisions) -> list[tuple[str, str, tuple[str, ...], bool]]:
    """Return (key, `how`, fields, moved) of each difference.

    `moved` is True if a revision decided about the key at or after the barrier's offset.
    """
    return [
        (entry.inv_key, entry.how, entry.fields, comparing._moved(entry, former, fresh, BARRIER))
        for entry in comparing._differences(former, fresh)
    ]


def test_revision_time_and_offset_are_no_difference_of_decisions() -> None:
    former = side(OURS, A=decision(logic_revision=OURS, as_of_us=5))
    fresh = side(THEIRS, A=decision(logic_revision=THEIRS, as_of_us=9, offset=12))

    assert found(former, fresh) == []


def test_decisions_closed_in_both_revisions_are_no_difference() -> None:
    former, fresh = (
        side(OURS, A=decision(status="accepted")),
        side(THEIRS, A=decision(status="cancelled")),
    )

    assert found(former, fresh) == []
    assert found(side(OURS, A=decision(status="accepted")), side(THEIRS)) == []


def test_a_difference_has_its_kind_and_the_names_of_its_fields() -> None:
    former = side(OURS, A=decision(), B=decision(), C=decision(status="cancelled"), D=decision())
    fresh = side(THEIRS, A=decision(quantity_units=99, terms=[]), B=decision(status="cancelled"),
                 C=decision())  # fmt: skip

    assert found(former, fresh) == [
        ("A", "changed", ("quantity_units", "terms"), False),
        ("B", "only_former", (), False),
        ("C", "only_new", (), False),
        ("D", "only_former", (), False),
    ]


def test_the_same_decision_with_other_terms_is_an_explanation() -> None:
    former = side(OURS, A=decision(), B=decision())
    fresh = side(THEIRS, A=decision(terms=[], reorder_point_units=9, revision=7),
                 B=decision(terms=[], cost_minor=1))  # fmt: skip

    assert [(key, how) for key, how, _, _ in found(former, fresh)] == [
        ("A", "explanation"),
        ("B", "changed"),
    ]


@pytest.mark.parametrize(("offset", "moved"), [(99, False), (100, True)])
def test_a_key_decided_at_the_barrier_or_behind_it_has_moved(offset: int, *, moved: bool) -> None:
    former, fresh = (
        side(OURS, A=decision(offset=offset)),
        side(THEIRS, A=decision(quantity_units=99)),
    )

    assert found(former, fresh) == [("A", "changed", ("quantity_units",), moved)]
    assert found(fresh, former) == [("A", "changed", ("quantity_units",), moved)]


def test_a_moving_key_that_differs_in_both_comparisons_is_a_difference() -> None:
    former = side(OURS, A=decision(offset=500), B=decision(offset=500), C=decision())
    fresh = side(THEIRS, A=decision(quantity_units=99), B=decision(quantity_units=99), C=decision())
    second = Comparison(OURS, THEIRS, BARRIER, equal=1, moving=2, differences=())

    lasting = comparing._confirmed(second, former, fresh, {("reorder", "A")})

    assert [entry.inv_key for entry in lasting.differences] == ["A"]
    assert lasting.counts() == {
        "equal": 1, "only_former": 0, "only_new": 0, "changed": 1, "explanation": 0, "moving": 1,
    }  # fmt: skip
    assert lasting.as_json(most=0)["differing"] == 1


class Scripted(Decisions):
    """Decisions of the keys A and B. A refresh applies one prepared step and reads no topic."""

    def __init__(self, revision: int, *steps: tuple[dict[str, Any], dict[str, Any]]) -> None:
        super().__init__(Connections(), revision, {})
        self._steps = iter(steps)

    @override
    def refresh(self, deadline: float) -> None:
        first, second = next(self._steps)
        self.newest = {("reorder", "A"): first, ("reorder", "B"): second}


@pytest.mark.parametrize(
    ("at_first", "lasting"), [({"quantity_units": 98}, ["A", "B"]), ({"terms": []}, ["B"])]
)
def test_a_difference_is_confirmed_only_if_it_exists_at_both_barriers(
    at_first: dict[str, Any], lasting: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "ends", lambda _settings: BARRIER)
    monkeypatch.setattr(progress, "wait_past", lambda *_args, **_named: None)
    ours, theirs = decision(offset=100), decision(offset=100, quantity_units=99)
    former = Scripted(OURS, (ours, ours), (ours, ours))
    fresh = Scripted(THEIRS, (decision(offset=100, **at_first), theirs), (theirs, theirs))

    result = comparing.compare(Connections(), former, fresh, 1)

    assert [difference.inv_key for difference in result.differences] == lasting
    assert result.moving == 2 - len(lasting)


def test_only_records_before_the_barrier_are_missing() -> None:
    assert progress.behind({0: 100, 1: 250}, BARRIER) == 0
    assert progress.behind({0: 93}, BARRIER) == 107


def test_a_partition_is_before_a_moment_until_it_has_a_record_of_that_time() -> None:
    states = {
        number: Progress(9, newest_us, None, streamed=True)
        for number, newest_us in ((0, 99), (1, 100), (2, None))
    }

    assert progress._before(100, states, {0, 1, 2, 3}) == [0, 2, 3]
    assert progress._before(99, states, {0, 1}) == []


def test_only_open_and_snoozed_decisions_are_pending() -> None:
    lines = kept("reorder_event", 1)
    taken = Decisions(Connections(), THEIRS)
    for number, line in enumerate(lines):
        taken.newest["reorder", f"K{number}"] = json.loads(line)
        taken._content["reorder", f"K{number}"] = line

    reorders, prices = taken.pending()

    assert {event.output.status for event in reorders} == {"open", "snoozed"}
    waiting = [line for line in lines if json.loads(line)["status"] in ("open", "snoozed")]
    assert (len(reorders), prices) == (len(waiting), [])


def test_code_revision_returns_the_revision_of_a_source_tree(tmp_path: Path) -> None:
    assert Code(PROJECT).revision() == LOGIC_REVISION
    with pytest.raises(StackError, match="not a source tree of this project; nothing was started"):
        Code(tmp_path, python="/bin/false").revision()
    with pytest.raises(StackError, match="--code"):
        Code(tmp_path / "nowhere").revision()


def test_code_that_does_not_answer_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deploy.revisions.shadow._ASK_S", 0.1)
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexec sleep 60\n")
    python.chmod(0o755)

    with pytest.raises(StackError, match="timed out"):
        Code(PROJECT, python=str(python)).revision()


def test_shadows_are_found_by_their_directories(tmp_path: Path) -> None:
    home = Home(tmp_path)
    for name in ("v10", "v2", "vX"):
        (tmp_path / "revisions" / name).mkdir(parents=True)

    assert list(shadows(home)) == [2, 10]
    assert shadows(home)[2] == home_of(home, 2)
    assert output_topics(2).reorder_events == "inventory-v2-reorder.events"
