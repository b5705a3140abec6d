"""The rules that the workers of a logic revision run, as each worker reports them.

A worker imports its sources once, when it starts. After an edit of the source tree, a running
worker still has the former rules. A worker that restarts has the new ones. So neither a hash of the
files nor a hash from the first start shows which rules run now.
"""

import time
from collections.abc import Collection
from typing import Final

from cdc.settings import Connections
from cdc.workers import WorkerRules, worker_rules, worker_urls
from deploy.errors import StackError
from deploy.revisions import shadow
from deploy.revisions.approval import Approval
from deploy.stack.home import Home
from deploy.stack.runtime import read_runtime
from inventory.revision import LOGIC_REVISION

_POLL_S: Final = 0.5
_SHOWN: Final = 12


def refuse_unapproved_rules(
    settings: Connections, approval: Approval, revision: int, timeout_s: float
) -> None:
    """Raise `StackError` unless workers with the approved rules fold every partition.

    Wait up to `timeout_s` seconds until each partition has a worker that answers.

    Raises:
        StackError: a worker runs other rules, or a partition has no worker that answers.
    """
    workers = _reported(settings, revision, time.monotonic() + timeout_s)
    others = [one for one in workers if one.code != approval.code]
    if not others:
        return
    found = ", ".join(f"{one.worker} runs {one.code or 'unknown rules'}" for one in others)
    message = (
        f"the approval {approval.digest:.12} is for rules {approval.code}, but {found}; "
        "nothing was switched"
    )
    if revision != LOGIC_REVISION and any(not one.code for one in others):
        raise _unreported(message, revision)
    raise StackError(message, repair=_repair(revision))


def addresses(settings: Connections, revision: int) -> list[str]:
    """Return the URLs of the revision's workers.

    These are the workers of a running shadow, or else the stack's own workers if they run this
    revision.
    """
    beside = read_runtime(shadow.home_of(Home(settings.home), revision))
    if beside.running:
        return [one.url for one in beside.services.values() if one.url]
    return [*worker_urls(settings).values()] if revision == LOGIC_REVISION else []


def _reported(settings: Connections, revision: int, deadline: float) -> list[WorkerRules]:
    """Return the rules of all workers, once each partition has a worker that answers.

    Raises:
        StackError: at `deadline`, some partitions have no such worker. The message names them.
    """
    while True:
        asked = [worker_rules(settings, url) for url in addresses(settings, revision)]
        found = [one for one in asked if isinstance(one, WorkerRules) and one.partitions]
        taken = frozenset[int]().union(*(one.partitions for one in found))
        missing = sorted(set(range(settings.partitions)) - taken)
        if not missing:
            return found
        if time.monotonic() > deadline:
            raise _silent(revision, missing, settings.partitions)
        time.sleep(_POLL_S)


def _silent(revision: int, missing: Collection[int], partitions: int) -> StackError:
    which = "any partition" if len(missing) == partitions else f"partitions {[*missing][:_SHOWN]}"
    message = (
        f"no worker of logic revision {revision} has reported its rules for {which}; "
        "nothing was switched"
    )
    return StackError(message, repair="inventory revision list")


def _unreported(message: str, revision: int) -> StackError:
    """Return the error of a shadow whose workers can't report their rules."""
    cause = (
        f"the source tree of logic revision {revision} is of an earlier release, whose workers "
        "can't report their rules. Merge this release into that tree. Then repeat `inventory "
        "backfill run`, `review` and `shadow`"
    )
    return StackError(f"{message}; {cause}", repair="inventory revision list")


def _repair(revision: int) -> str:
    """Return the repair command for workers that run other rules than the approved ones.

    It restarts the stack's own workers. For a shadow, it deletes the topics, because they have
    results of other rules.
    """
    if revision == LOGIC_REVISION:
        return "inventory workers restart --rolling"
    return f"inventory revision retire {revision} --delete"
