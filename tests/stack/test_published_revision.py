"""A logic revision that starts from a published backfill, compared with a complete replay."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analytics.backfill.ends import history
from analytics.backfill.plan import make_plan
from analytics.backfill.publish_refusals import NotPublishable, refuse_other_log
from analytics.backfill.run import runs_dir
from deploy.stack.home import PROJECT
from inventory.revision import LOGIC_REVISION
from streams.exit_codes import ExitCode
from tests.analytics.shop import Shop
from tests.stack.running import RunningStack
from tests.stack.test_revision_deployed import CODE
from tests.stack.test_revisions import desk, replaced, report, sell

PUBLISHED = LOGIC_REVISION + 3
WITHIN_S = 300.0
CUT_OFF = """
import os, signal, sys
from deploy.stack.runtime import load_environment
load_environment()
from cdc.settings import Connections
from deploy.revisions.publish import publish
from streams.engine.publication import Publication

run, step, left = sys.argv[1], sys.argv[2], int(sys.argv[3])
proper = getattr(Publication, step)

async def counted(*given):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return await proper(*given)

setattr(Publication, step, counted)
publish(Connections(), run, print)
"""

STATES = """
import json, sys
from deploy.stack.runtime import load_environment
load_environment()
from analytics.live_state import LiveState
from cdc.contracts.state import encode_state
from cdc.settings import Connections

live = LiveState(Connections())
live.refresh()
print(json.dumps({key: encode_state(live.state(key)).decode() for key in live.keys(sys.argv[1])}))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the code with the same rules and another revision number."""
    found = tmp_path_factory.mktemp("published") / "tree"
    for package in CODE:
        shutil.copytree(PROJECT / package, found / package)
    replaced(
        found / "inventory" / "revision.py",
        r"LOGIC_REVISION: Final = \d+",
        f"LOGIC_REVISION: Final = {PUBLISHED}",
    )
    return found


@pytest.fixture
def shop(stack: RunningStack) -> Iterator[Shop]:
    """A shop with needs. Afterwards the other revision is removed."""
    opened = Shop(stack.settings.owner_database_url.get_secret_value())
    opened.trade()
    sell(stack, opened, "C", 90)
    stack.wait_until(lambda: "C" in desk(stack, opened))
    try:
        yield opened
    finally:
        stack.cli("revision", "retire", str(PUBLISHED), "--delete")


def recomputed(stack: RunningStack, *options: str) -> str:
    """Run a recomputation of the present log and return its name."""
    done = stack.cli("backfill", "run", "--json", *options)
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["run"])


def publish(stack: RunningStack, tree: Path, run: str) -> subprocess.CompletedProcess[str]:
    return stack.cli("backfill", "publish", run, "--code", str(tree), "--json")


def refused(stack: RunningStack, tree: Path, run: str) -> str:
    done = publish(stack, tree, run)
    assert done.returncode == 1, done.stdout
    return done.stderr


def in_tree(
    stack: RunningStack, tree: Path, *arguments: str, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run Python with the code in `tree` in a separate process. Return its result."""
    mine = {key: found for key, found in os.environ.items() if not key.startswith("INVENTORY_")}
    return subprocess.run(  # noqa: S603 -- our own code
        [sys.executable, *arguments],
        cwd=tree,
        env=mine | dict(stack.environment) | {"INVENTORY_HOME": str(stack.home.path)} | more,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )


def ready_partitions(stack: RunningStack) -> dict[int, int]:
    """Return partition → first offset of the revision's worker, from the worker's log."""
    name = f"shadow-v{PUBLISHED}-1.log"
    text = (stack.home.path / "revisions" / f"v{PUBLISHED}" / "logs" / name).read_text("utf-8")
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return {
        line["partition"]: line["next_offset"]
        for line in lines
        if line.get("event") == "partition ready"
    }


def states(stack: RunningStack, tree: Path, shop: Shop) -> dict[str, str]:
    """Return each key's complete state from the tree's workers, without the revision number."""
    done = in_tree(stack, tree, "-c", STATES, shop.location)
    assert done.returncode == 0, done.stderr
    number = re.compile(r'"logic_revision":\d+')
    return {key: number.sub("", state) for key, state in json.loads(done.stdout).items()}


def published_ends(found: Mapping[str, Any]) -> dict[int, int]:
    return {int(number): end for number, end in found["next_offsets"].items()}


def test_publishing_a_run_of_another_log_is_refused(stack: RunningStack) -> None:
    Shop(stack.settings.owner_database_url.get_secret_value()).trade()
    manifest, ends = history(stack.settings, None, runs=runs_dir(stack.settings))
    plan = make_plan(manifest, engine="local", ends=ends)
    refuse_other_log(stack.settings, plan)
    behind = {number: end + 1_000_000 for number, end in plan.ends.items()}

    with pytest.raises(NotPublishable, match="the topic was deleted and recreated"):
        refuse_other_log(stack.settings, replace(plan, source_topic_id="another"))
    with pytest.raises(NotPublishable, match=r"stock\.events\[0\] holds offsets 0 to"):
        refuse_other_log(stack.settings, replace(plan, ends=behind))


@pytest.mark.soak  # tests/analytics/test_publication.py compares the states without a stack
def test_a_published_revision_equals_a_replay_byte_for_byte_and_continues(
    stack: RunningStack, shop: Shop, tree: Path
) -> None:
    of_tree = ("--code", str(tree))
    run = recomputed(stack, *of_tree)

    done = publish(stack, tree, run)

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["logic_revision"] == PUBLISHED
    assert found["partitions_written"] == found["partitions"] >= 1  # partitions with facts
    assert found["keys"] >= 3
    again = json.loads(publish(stack, tree, run).stdout)
    assert (again["partitions_written"], again["keys"]) == (0, 0)
    ends = published_ends(found)
    assert published_ends(again) == ends
    sell(stack, shop, "B", 95)
    stack.wait_until(lambda: "B" in desk(stack, shop))

    started = stack.cli("revision", "start", str(PUBLISHED), "--code", str(tree))

    assert started.returncode == 0, started.stderr
    assert ready_partitions(stack) == ends
    compared = report(stack, "compare", str(PUBLISHED), "--states")
    assert compared["differing"] == 0, compared["differences"]
    assert compared["equal"] >= 2
    assert compared["states"]["differing"] == 0, compared["states"]["keys"]
    assert compared["states"]["equal"] >= 3
    replayed = states(stack, PROJECT, shop)
    assert states(stack, tree, shop) == replayed != {}
    assert {made_by for _, made_by in desk(stack, shop).values()} == {LOGIC_REVISION}
    assert "worker of logic revision 5 runs" in refused(stack, tree, run)
    assert stack.cli("revision", "retire", str(PUBLISHED)).returncode == 0
    assert "has its own state already" in refused(stack, tree, recomputed(stack, *of_tree))


@pytest.mark.soak  # tests/analytics/test_publication.py ends it at each record
def test_an_interrupted_publication_is_unusable_until_it_is_repeated(
    stack: RunningStack, shop: Shop, tree: Path
) -> None:
    Shop(shop.url).trade()  # in other partitions too
    run = recomputed(stack, "--code", str(tree))
    for step in ("write", "write_progress"):
        killed = in_tree(stack, tree, "-c", CUT_OFF, run, step, "2")
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        variables = {"INVENTORY_WORKER_ID": f"cut-{step}", "INVENTORY_WORKER_PORT": port}

        worker = in_tree(stack, tree, "-m", "streams.worker", **variables)

        assert worker.returncode == ExitCode.LOG_MISMATCH, worker.stdout + worker.stderr
        assert "holds an incomplete published backfill" in worker.stdout + worker.stderr

    sell(stack, shop, "A", 1)

    def with_that_sale() -> str:
        """Return the name of a run that includes the sale, or "" until the archive has it."""
        found = recomputed(stack, "--code", str(tree))
        return "" if found == run else found

    later = stack.wait_until(with_that_sale)
    assert f"revision retire {PUBLISHED} --delete" in refused(stack, tree, later)
    done = publish(stack, tree, run)

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert 0 < found["partitions_written"] < found["partitions"]
    started = stack.cli("revision", "start", str(PUBLISHED), "--code", str(tree))
    assert started.returncode == 0, started.stderr
    compared = report(stack, "compare", str(PUBLISHED), "--states")
    assert compared["states"]["differing"] == 0, compared["states"]["keys"]
