"""The rules that real worker servers report are compared with the approved rules."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from pydantic import SecretStr

from cdc.settings import Connections
from cdc.sources import hash_of, imported_hash
from cdc.workers import worker_urls
from deploy.cli import revision
from deploy.errors import StackError
from deploy.revisions import promote as promoting
from deploy.revisions import shadow
from deploy.revisions.approval import Approval
from deploy.revisions.rules import addresses, refuse_unapproved_rules
from deploy.stack.home import PROJECT, Home
from deploy.stack.processes import identify
from deploy.stack.runtime import Runtime, ServiceRuntime, write_runtime
from inventory.revision import LOGIC_REVISION
from tests.streams.served import CODE, TOKEN, Fleet, Worker, fleet, halves, stocked

OTHER = "fedcba9876543210"
APPROVAL = Approval(1, "ab" * 32, "ada", "olga", CODE, frozenset())
LATER = LOGIC_REVISION + 1


@pytest.fixture(name="settings")
def settings_of_a_home(tmp_path: Path) -> Connections:
    return Connections(home=tmp_path, query_token=SecretStr(TOKEN))


def with_two(monkeypatch: pytest.MonkeyPatch, story: Callable[[Fleet], Awaitable[None]]) -> None:
    async def run() -> None:
        async with fleet(monkeypatch, *await halves(stocked())) as found:
            await story(found)

    asyncio.run(run())


async def check(settings: Connections, timeout_s: float = 60.0) -> None:
    await asyncio.to_thread(refuse_unapproved_rules, settings, APPROVAL, LOGIC_REVISION, timeout_s)


def test_workers_with_the_approved_rules_pass(
    monkeypatch: pytest.MonkeyPatch, settings: Connections
) -> None:
    with_two(monkeypatch, lambda _found: check(settings))


@pytest.mark.parametrize(("code", "named"), [(OTHER, OTHER), ("", "unknown rules")])
def test_a_worker_that_imported_other_rules_is_named(
    monkeypatch: pytest.MonkeyPatch, settings: Connections, code: str, named: str
) -> None:
    async def story(found: Fleet) -> None:
        found.workers[1].code = code
        with pytest.raises(StackError) as refused:
            await check(settings)
        assert str(refused.value) == (
            f"the approval abababababab is for rules {CODE}, but worker-2 runs {named}; "
            "nothing was switched"
        )

    with_two(monkeypatch, story)


def test_the_error_about_a_shadow_of_an_earlier_release_advises_a_merge(
    monkeypatch: pytest.MonkeyPatch, settings: Connections
) -> None:
    monkeypatch.setattr(
        "deploy.revisions.rules.addresses", lambda of, _: [*worker_urls(of).values()]
    )

    async def story(found: Fleet) -> None:
        found.workers[1].code = ""
        with pytest.raises(StackError, match="Merge this release into that tree") as refused:
            await asyncio.to_thread(refuse_unapproved_rules, settings, APPROVAL, LATER, 60.0)
        assert f"the source tree of logic revision {LATER} is of an earlier" in str(refused.value)
        assert "retire" not in refused.value.repair

        found.workers[1].code = OTHER
        with pytest.raises(StackError, match=f"worker-2 runs {OTHER}; nothing") as refused:
            await asyncio.to_thread(refuse_unapproved_rules, settings, APPROVAL, LATER, 60.0)
        assert refused.value.repair == f"inventory revision retire {LATER} --delete"

    with_two(monkeypatch, story)


def test_a_partition_whose_worker_does_not_answer_is_named(
    monkeypatch: pytest.MonkeyPatch, settings: Connections
) -> None:
    async def story(_found: Fleet) -> None:
        with pytest.raises(StackError, match=r"its rules for partitions \[0, 2, 4, 6, 8, 10\]"):
            await check(settings, timeout_s=0.0)

    async def run() -> None:
        _, second = await halves(stocked())
        async with fleet(monkeypatch, second) as found:
            await story(found)

    asyncio.run(run())


def test_a_worker_that_restarts_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, settings: Connections
) -> None:
    async def story(found: Fleet) -> None:
        worker = found.workers[0]
        numbers = sorted(worker.ownership.assigned)
        await worker.ownership.revoked()
        checking = asyncio.create_task(check(settings))
        done, _ = await asyncio.wait({checking}, timeout=1.0)
        assert not done

        await worker.take(numbers)
        await checking

    with_two(monkeypatch, story)


def test_a_revision_without_workers_has_no_addresses(settings: Connections) -> None:
    assert addresses(settings, LATER) == []
    with pytest.raises(StackError, match=f"revision {LATER} has reported its rules for any part"):
        refuse_unapproved_rules(settings, APPROVAL, LATER, 0.0)


def test_a_worker_reports_the_sources_that_it_imported() -> None:
    assert imported_hash() == hash_of(PROJECT)
    assert Worker("worker-1", stocked()).code == CODE


def test_a_revision_number_cannot_be_claimed_for_two_sets_of_rules(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert shadow.code_of(home, LATER) == ""
    shadow.claim(home, LATER, tmp_path / "tree", CODE)

    shadow.claim(home, LATER, tmp_path / "copy", CODE)
    with pytest.raises(StackError, match=f"was written by rules with the hash {CODE}") as refused:
        shadow.claim(home, LATER, tmp_path / "edited", OTHER)

    assert "nothing was started or published" in str(refused.value)
    assert refused.value.repair == f"inventory revision retire {LATER} --delete"
    assert shadow.code_of(home, LATER) == CODE
    shadow.forget(home, LATER)
    shadow.claim(home, LATER, tmp_path / "edited", OTHER)


@pytest.mark.parametrize(("workers", "started"), [(None, []), (1, []), (3, [3])])
def test_another_number_of_workers_replaces_the_workers_that_run(
    monkeypatch: pytest.MonkeyPatch,
    settings: Connections,
    workers: int | None,
    started: list[int],
) -> None:
    home, me = Home(settings.home), identify(os.getpid())
    shadow.claim(home, LATER, PROJECT, hash_of(PROJECT))
    runtime = Runtime("ready", me.pid, me.started, services={"shadow-1": ServiceRuntime("running")})
    write_runtime(shadow.home_of(home, LATER), runtime)
    monkeypatch.setattr(shadow.Code, "revision", lambda _: LATER)
    environment = {"INVENTORY_KAFKA_BOOTSTRAP": "kafka"}
    monkeypatch.setattr(shadow, "environment_of", lambda _: environment)
    monkeypatch.setattr(shadow, "create_topics", lambda *_: None)
    steps: list[object] = []
    monkeypatch.setattr("deploy.stack.daemon.wait_ready", lambda _: None)
    monkeypatch.setattr("deploy.stack.daemon.stop", lambda _: steps.append("stop"))
    monkeypatch.setattr(shadow, "_spawn_supervisor", lambda *given: steps.append(given[-1]))

    shadow.start(home, LATER, shadow.Code(PROJECT), workers)

    assert steps == (["stop", *started] if started else [])


@pytest.mark.parametrize(
    ("number", "repair"),
    [
        (LATER, f"inventory revision start {LATER} --code '/a tree'"),
        (LATER + 1, f"inventory revision start {LATER + 1} --code .  # in the source tree"),
        (LOGIC_REVISION, "inventory workers start worker-1"),
    ],
)
def test_a_switch_to_a_revision_without_workers_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, settings: Connections, number: int, repair: str
) -> None:
    monkeypatch.setattr(promoting, "active", lambda _: LATER + 2)
    monkeypatch.setattr("deploy.revisions.members._members", lambda *_: 0)
    shadow.claim(Home(settings.home), LATER, Path("/a tree"), CODE)

    with pytest.raises(StackError, match=f"no worker of logic revision {number} runs") as refused:
        promoting.promote(settings, promoting.SwitchRequest(number, "ada", 300.0))

    assert refused.value.repair.startswith(repair)


@pytest.mark.parametrize(
    ("deciding", "repair"),
    [
        (LATER, "inventory revision list"),
        (LOGIC_REVISION, f"inventory revision retire {LATER} --delete"),
    ],
)
def test_a_start_with_other_rules_advises_to_retire_the_revision_unless_it_decides(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: Connections,
    deciding: int,
    repair: str,
) -> None:
    home = Home(tmp_path)
    monkeypatch.setenv("INVENTORY_HOME", str(tmp_path))
    monkeypatch.setattr("deploy.revisions.promote.active", lambda _: deciding)
    monkeypatch.setattr(revision, "_settings", lambda: settings)
    monkeypatch.setattr(revision, "load_environment", lambda: None)
    monkeypatch.setattr(shadow, "environment_of", lambda _: {})
    monkeypatch.setattr(shadow.Code, "revision", lambda _: LATER)
    shadow.claim(home, LATER, tmp_path, OTHER)

    with pytest.raises(StackError, match=f"was written by rules with the hash {OTHER}") as refused:
        revision.start(LATER, code=PROJECT)

    assert refused.value.repair == repair
