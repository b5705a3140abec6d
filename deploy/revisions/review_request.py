"""Request the review of a difference: compare two runs, check their rules, record every key."""

from typing import TYPE_CHECKING

from analytics.backfill.diff.comparison import Diff, compare
from analytics.backfill.diff.revised import KINDS
from analytics.backfill.diff.scratch import Scratch
from cdc.settings import Connections
from deploy.errors import StackError
from deploy.revisions.promote import active
from deploy.revisions.shadow import code_of
from deploy.stack.home import Home, default_home

if TYPE_CHECKING:
    from ledger.reviews.queries import Review
    from ledger.reviews.service import RequestReview


def request_review_of(settings: Connections, a: str, b: str, *, actor: str) -> "Review":
    """Compare runs `a` and `b`. Record their difference for review, and return the review.

    Django must be set up.

    Raises:
        StackError: run A has other rules than the deciding ones. Or run B has the deciding rules,
        lacks keys, or shares its revision number with other rules. Or both runs decide alike.
        NotComparable: the runs can't be compared.
        LedgerError: the person may not request a review, or a review of other rules is open.
    """
    from ledger.reviews.service import request_review  # noqa: PLC0415 -- needs Django set up

    with Scratch() as scratch:
        found = compare(settings, a, b, scratch)
        refuse_other_rules(found, settings)
        return request_review(_request(found), actor=actor)


def refuse_other_rules(found: Diff, settings: Connections) -> None:
    """Raise `StackError` unless run A has the deciding rules, and run B has other rules.

    Also raise it if the runs lack keys, if both decide alike, or if rules with another hash have
    already written the state of B's revision.
    """
    a, b, decides = found.runs.a.plan, found.runs.b.plan, active(settings)
    deciding_code = code_of(Home(default_home()), decides or 0)
    problem = ""
    if a.logic_revision != decides or a.code != deciding_code:
        problem = (
            f"run {a.run} has logic revision {a.logic_revision} and code {a.code}, but revision "
            f"{decides} with code {deciding_code} decides"
        )
    elif b.logic_revision == decides:
        problem = f"run {b.run} has logic revision {b.logic_revision}, which decides already"
    elif not b.selection.is_all:
        problem = f"runs {a.run} and {b.run} hold {b.selection.text()} only"
    elif (known := code_of(Home(default_home()), b.logic_revision)) not in ("", b.code):
        problem = (
            f"run {b.run} has rules with the hash {b.code}. The state of logic revision "
            f"{b.logic_revision} was written by rules with the hash {known}. Give one of these "
            "sets of rules another logic revision"
        )
    elif found.is_equal:
        problem = f"runs {a.run} and {b.run} made equal decisions, so a switch needs no approval"
    if problem:
        message = f"{problem}; nothing was recorded"
        raise StackError(message, repair="inventory backfill status")


def _request(found: Diff) -> "RequestReview":
    from ledger.reviews.service import RequestReview  # noqa: PLC0415 -- needs Django set up

    a, b = found.runs.a.plan, found.runs.b.plan
    keys = {(kind, str(row["inv_key"])) for kind in KINDS for row in found.scratch.ranked(kind)}
    return RequestReview(
        digest=found.digest,
        former=a.logic_revision,
        revision=b.logic_revision,
        code=b.code,
        runs=(a.run, b.run),
        summary=found.as_json(),
        keys=keys,
    )
