"""Switch of the deciding logic revision, in one Postgres transaction.

Before the switch, only the former revision's decisions reach the pages. After it, only those of the
new revision do. The transaction also writes the new revision's pending decisions as proposals.
Afterwards, the actuator reads the topics of the new revision, from the records after these
decisions.
"""

import time
from dataclasses import dataclass

import psycopg

from cdc.contracts.partition import partition_of
from cdc.deciding import former_revision, recorded_revision
from cdc.settings import Connections
from deploy.errors import StackError
from deploy.revisions import progress, shadow
from deploy.revisions.approval import Approval, approval_of, refuse_changed, refuse_unapproved
from deploy.revisions.compare import Comparison, compare
from deploy.revisions.decisions import Decisions
from deploy.revisions.members import members, remaining_members
from deploy.revisions.progress import Progress, no_report
from deploy.revisions.rules import refuse_unapproved_rules
from deploy.stack import service_commands
from deploy.stack.home import Home
from inventory.revision import LOGIC_REVISION
from streams.sinks.active import Switch, switch
from streams.sinks.actuator import Actuator
from streams.sinks.positions import Connection, move_positions
from streams.sinks.proposals import approved, propose_only


def active(settings: Connections) -> int | None:
    """Return the logic revision that decides, None before the first start."""
    with connect(settings) as connection:
        return recorded_revision(connection)


def connect(settings: Connections) -> Connection:
    """Return a Postgres connection with the rights of the sinks, in autocommit mode."""
    address = settings.sink_database_url.get_secret_value()
    return psycopg.connect(address, autocommit=True, connect_timeout=10)


@dataclass(frozen=True, slots=True)
class SwitchRequest:
    """A person's request that `revision` becomes the deciding one.

    `by` is the name of the person. `approval` is the digest of an approved difference. Without one,
    no key may differ, but a rollback sets `accepts_any`: then any key may differ. With
    `without_comparison`, the revisions are not compared. This is allowed only if no worker of the
    former revision runs.
    """

    revision: int
    by: str
    timeout_s: float
    approval: str = ""
    accepts_any: bool = False
    without_comparison: bool = False


def promote(
    settings: Connections, request: SwitchRequest, *, report: Progress = no_report
) -> Comparison | None:
    """Wait until the revision's workers have read the whole log. Then let the revision decide.

    Return the comparison with the former revision, or None without a comparison.

    Raises:
        StackError: the revision decides already, has no worker, or is behind at the deadline. Or
        more keys differ than are approved. Or its workers run other rules than the approved ones.
        Or `without_comparison` was requested while workers of the former revision run.
        RevisionSwitched: another command has switched meanwhile.
        ApprovalInFlight: an order that was just approved is not in the log yet.
    """
    revision, former = request.revision, _former(settings, request)
    _refuse_without_workers(settings, revision)
    approval = _approval(settings, request, former)
    deadline = time.monotonic() + request.timeout_s
    fresh, ordered = Decisions(settings, revision), frozenset[str]()
    if request.without_comparison:
        found, reached = None, progress.ends(settings)
        progress.wait_past(settings, reached, revision, deadline, report=report)
        ordered = _orders_known_to(settings, revision, time.monotonic() + request.timeout_s)
    else:
        former_side = Decisions(settings, former)
        found = compare(settings, former_side, fresh, request.timeout_s, report=report)
        reached = dict(found.barrier)
        if not request.accepts_any:
            with connect(settings) as connection:
                refuse_unapproved(connection, approval, found, by=request.by)
    if approval is not None:
        # A worker may have restarted from an edited tree during the comparison.
        refuse_unapproved_rules(settings, approval, revision, request.timeout_s)
    fresh.refresh(time.monotonic() + request.timeout_s)
    record = _record(request, found, approval)
    change = Switch(revision, former, request.by, reached, record)
    _switch_now(settings, change, fresh, ordered, approval)
    return found


def _former(settings: Connections, request: SwitchRequest) -> int:
    """Return the revision that decides now.

    Raises:
        StackError: no revision decides yet, or the requested revision decides already. A request
        without a comparison is also refused if it has an approval, or if workers of the deciding
        revision run.
    """
    revision, former = request.revision, active(settings)
    if former is None or former == revision:
        reason = "no revision decides yet" if former is None else "it decides already"
        message = f"logic revision {revision} can't take over: {reason}; nothing was switched"
        raise StackError(message, repair="inventory revision list")
    if not request.without_comparison:
        return former
    if request.approval:
        message = (
            "an approval needs a comparison of the revisions: leave out --without-comparison; "
            "nothing was switched"
        )
        raise StackError(message, repair="inventory revision list")
    remaining = remaining_members(settings.kafka_bootstrap, former)
    if remaining:
        message = (
            f"workers of logic revision {former} still run ({remaining}), so their decisions can "
            "be compared: --without-comparison is refused; nothing was switched"
        )
        raise StackError(message, repair=f"inventory revision compare {revision}")
    return former


def _refuse_without_workers(settings: Connections, revision: int) -> None:
    """Raise `StackError` if no worker of `revision` runs. Its state would never catch up."""
    if members(settings.kafka_bootstrap, revision):
        return
    home = Home(settings.home)
    if revision == LOGIC_REVISION:
        repair = service_commands.resume_command(home, "worker-1")
    else:
        repair = shadow.start_command(home, revision)
    message = f"no worker of logic revision {revision} runs; nothing was switched"
    raise StackError(message, repair=repair)


def _record(
    request: SwitchRequest, found: Comparison | None, approval: Approval | None
) -> dict[str, object]:
    """Return the details for the row of a switch: comparison counts, approval, and `rollback`."""
    counts: dict[str, object] = {} if found is None else {**found.counts()}
    agreed = {} if approval is None else {"approval": approval.as_json()}
    return counts | agreed | ({"rollback": True} if request.accepts_any else {})


def _switch_now(
    settings: Connections,
    change: Switch,
    fresh: Decisions,
    ordered: frozenset[str],
    approval: Approval | None,
) -> None:
    """Switch in one transaction: replace the proposals, and move the actuator to the new topics.

    `fresh` has the new revision's decisions. `ordered` has the ids of approved needs whose orders
    the new revision has read.
    """
    with connect(settings) as connection, connection.transaction():
        switch(connection, change)
        if approval is not None and change.former is not None:
            # The approval may have been withdrawn or have lapsed meanwhile.
            refuse_changed(connection, approval, former=change.former, revision=change.revision)
        propose_only(connection, *fresh.pending(), ordered)
        move_positions(connection, Actuator.name, fresh.next_offsets())


def revision_before(settings: Connections) -> int:
    """Return the revision that decided before the newest switch.

    Raises:
        StackError: no switch was made, or the newest switch was a rollback.
    """
    with connect(settings) as connection:
        found = former_revision(connection)
    if found is None:
        message = (
            "no logic revision decided before this one, or the newest switch was a rollback; "
            "nothing was switched"
        )
        raise StackError(message, repair="inventory revision list")
    return found


def _approval(settings: Connections, request: SwitchRequest, former: int) -> Approval | None:
    if not request.approval:
        return None
    with connect(settings) as connection:
        found = approval_of(connection, request.approval, former=former, revision=request.revision)
    refuse_unapproved_rules(settings, found, request.revision, request.timeout_s)
    return found


def _orders_known_to(settings: Connections, revision: int, deadline: float) -> frozenset[str]:
    """Wait until `revision` has read the orders of all approved needs. Return the needs' ids.

    The needs are of the former revision. Its workers would close them, but possibly none of these
    workers runs any more. So the switch closes them.
    """
    with connect(settings) as connection, connection.transaction():
        needs, asked_us = approved(connection)
    numbers = {partition_of(key.encode(), settings.partitions) for key in needs.values()}
    progress.wait_past_moment(settings, asked_us, numbers, revision, deadline)
    return frozenset(needs)
