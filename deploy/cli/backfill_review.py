"""`inventory backfill review`, `approve`, `reject`, `withdraw`, `reviews`: review by two people."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import typer

from deploy import output
from deploy.cli.backfill_group import add_command
from deploy.cli.backfill_options import Json, Run
from deploy.cli.identity import logged_in_person
from deploy.errors import StackError
from deploy.stack.django import connect_django
from inventory.explain.formatting import counted_text

if TYPE_CHECKING:
    from ledger.reviews.queries import Review

By = Annotated[
    str,
    typer.Option(
        prompt="Name of the person",
        help="Name of the person. The command asks for their password, and for a one-time code.",
    ),
]
Digest = Annotated[
    str, typer.Argument(metavar="DIGEST", help="Digest of the difference, 8 or more characters.")
]
Reason = Annotated[str, typer.Option(help="Reason; it is kept with the verdict.")]
Growth = Annotated[
    int,
    typer.Option(
        min=0,
        help="Number of other keys that may differ at the switch, because trade continues until "
        "then.",
    ),
]
_COLUMNS: Final = (
    *("digest", "revision", "keys", "requested by", "verdict", "growth", "decided by", "reason"),
)
_SHOWN_CHARS: Final = 12
_LEAST_CHARS: Final = 8


def register(_app: typer.Typer) -> None:
    """Add the commands to `inventory backfill`."""
    for each in (review, approve, reject, withdraw, reviews):
        add_command(each)


def review(a: Run, b: Run, *, by: By, json: Json = False) -> None:
    """Ask another person to approve the difference between runs A and B.

    A is a run with the deciding rules. B is a run with the new rules over the same records.
    `backfill diff` shows the difference. The approval is for the keys that differ, not for their
    quantities.
    """
    connect_django()
    from cdc.settings import Connections  # noqa: PLC0415 -- reads the environment
    from deploy.revisions.review_request import request_review_of  # noqa: PLC0415 -- loads Parquet

    recorded = request_review_of(Connections(), a, b, actor=logged_in_person(by))
    _show(recorded, json=json)


def approve(
    digest: Digest, *, by: By, reason: Reason = "", growth: Growth = 0, json: Json = False
) -> None:
    """Approve a difference that another person has sent for review.

    Trade continues until the switch to the new revision. So at the switch, keys may differ that the
    approved difference doesn't contain. If there are more than --growth such keys, the approval
    lapses.
    """
    _decide(digest, Verdict("approved", reason, growth), by, json=json)


def reject(digest: Digest, *, by: By, reason: Reason, json: Json = False) -> None:
    """Reject a difference, with a reason."""
    _decide(digest, Verdict("rejected", reason), by, json=json)


def withdraw(digest: Digest, *, by: By, reason: Reason, json: Json = False) -> None:
    """Take back an approval, with a reason. `backfill cutover` then refuses the difference.

    The person who requested the review, the person who approved it, and operators may withdraw an
    approval. Afterwards, a second person may approve the difference again. While the revision
    decides, use `backfill rollback` before you withdraw its approval.
    """
    connect_django()
    from ledger.reviews.service import withdraw_review  # noqa: PLC0415 -- needs Django set up

    found = _named(digest)
    _show(withdraw_review(found, reason, actor=logged_in_person(by)), json=json)


def reviews(*, json: Json = False) -> None:
    """List the requested reviews and their verdicts, newest first."""
    connect_django()
    from ledger.reviews import queries  # noqa: PLC0415 -- needs Django set up

    found = queries.reviews()
    if json:
        output.as_json([one.as_json() for one in found])
        return
    rows = [
        (
            one.digest[:_SHOWN_CHARS],
            f"{one.former} to {one.revision}",
            one.keys,
            one.requested_by,
            one.verdict,
            one.growth,
            one.decided_by,
            one.reason,
        )
        for one in found
    ]
    output.table(counted_text(len(rows), "review"), _COLUMNS, rows)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A person's verdict on a review, as given on the command line."""

    verdict: str
    reason: str
    growth: int = 0


def _decide(digest: str, given: Verdict, by: str, *, json: bool) -> None:
    connect_django()
    from ledger.reviews.service import Decision, decide_review  # noqa: PLC0415 -- needs Django set up

    found = _named(digest)
    person = logged_in_person(by)
    decision = Decision(given.verdict, given.reason, given.growth)
    _show(decide_review(found, decision, actor=person), json=json)


def _named(digest: str) -> "Review":
    """Return the only review whose digest begins with `digest`."""
    from ledger.reviews import queries  # noqa: PLC0415 -- needs Django set up

    if len(digest) < _LEAST_CHARS:
        message = f"{digest!r}: give at least {_LEAST_CHARS} characters of the digest of a review"
        raise StackError(message, repair="inventory backfill reviews")
    found = queries.reviews_with(digest)
    if len(found) != 1:
        message = (
            f"{digest!r}: expected the beginning of the digest of exactly one review, but it fits "
            f"{len(found)} reviews"
        )
        raise StackError(message, repair="inventory backfill reviews")
    return found[0]


def _show(found: "Review", *, json: bool) -> None:
    if json:
        output.as_json(found.as_json())
        return
    rows = [
        ("digest", found.digest),
        ("logic revision", f"{found.former} to {found.revision}"),
        ("keys that differ", found.keys),
        ("requested by", found.requested_by),
        ("verdict", found.verdict),
        ("more keys accepted", found.growth),
        ("decided by", found.decided_by),
        *_next_steps(found),
    ]
    output.table("review", ("what", "value"), rows)


def _next_steps(found: "Review") -> list[tuple[str, str]]:
    """Return rows of title and command: the next steps after the verdict on this review.

    After an approval, the first command publishes a run. The workers that a switch needs start from
    the published states.
    """
    digest, number = found.digest[:_SHOWN_CHARS], found.revision
    if found.verdict == "waiting":
        return [("next, by another person", f"inventory backfill approve {digest}")]
    if found.verdict != "approved":
        return [("next", "inventory backfill reviews")]
    return [
        ("in the source tree of the new rules", f"inventory backfill publish {number} --code ."),
        (
            "after the publication",
            f"inventory backfill shadow {number} --code . --approval {digest}",
        ),
        ("finally", f"inventory backfill cutover {number} --approval {digest}"),
    ]
