"""Reviews of a difference: two people, one digest, and no switch if too many keys differ."""

import io
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import psycopg
import pytest
from django.test import override_settings
from typer.testing import CliRunner, Result

from deploy.cli import backfill_review
from deploy.cli.main import app, main
from deploy.errors import StackError
from deploy.revisions.approval import (
    approval_of,
    refuse_unapproved,
)
from deploy.revisions.compare import Comparison, Difference
from tests.ledger.reviewed import (
    DIGEST,
    KEYS,
    OTHER,
    OURS,
    THEIRS,
    approval,
    approved,
    decision,
    person,
    request,
)
from tests.ledger.staff import PASSWORD, WRONG


@pytest.fixture(name="people")
def two_people_and_an_associate(staff: psycopg.Connection) -> psycopg.Connection:
    """Add Ada, an analyst. Olga, an operator, and Ann, an associate, exist already."""
    person("ada", "analyst")
    return staff


@pytest.fixture(name="service")
def the_service(people: psycopg.Connection) -> Any:
    return import_module("ledger.reviews.service")


def comparison(*keys: tuple[str, str]) -> Comparison:
    differences = tuple(Difference(kind, key, "changed", (), None, None) for kind, key in keys)
    return Comparison(OURS, THEIRS, {0: 9}, 5, 0, differences)


def test_a_second_person_approves_and_both_are_recorded(service: Any, people: Any) -> None:
    waiting = request(service)
    assert (waiting.verdict, waiting.keys, waiting.requested_by) == ("waiting", 3, "ada")

    found = service.decide_review(waiting, decision(service, reason="checked"), actor="olga")

    assert (found.verdict, found.decided_by, found.reason) == ("approved", "olga", "checked")
    log = people.execute("SELECT actor, action, subject FROM app.action_log ORDER BY id").fetchall()
    assert log == [
        ("ada", "review_requested", "logic revision 3"),
        ("olga", "review_approved", "logic revision 3"),
    ]


def test_the_same_difference_sent_by_two_people_is_one_review(service: Any) -> None:
    first = request(service)

    again = request(service, actor="olga")

    assert again == first
    assert request(service, digest=OTHER).id != first.id


def test_the_requester_cannot_approve_a_review(service: Any, people: psycopg.Connection) -> None:
    errors = import_module("ledger.kernel.errors")
    waiting = request(service)

    with pytest.raises(errors.ServiceError, match="another person has to approve it"):
        service.decide_review(waiting, decision(service), actor="ada")
    with pytest.raises(psycopg.errors.CheckViolation, match="second_person"):
        people.execute(
            "INSERT INTO app.diff_verdict (review, requested_by, verdict, decided_by)"
            " VALUES (%s, 'ada', 'approved', 'ada')",
            (waiting.id,),
        )
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        people.execute(
            "INSERT INTO app.diff_verdict (review, requested_by, verdict, decided_by)"
            " VALUES (%s, 'olga', 'approved', 'ada')",
            (waiting.id,),
        )
    assert (
        service.decide_review(waiting, decision(service, "rejected"), actor="ada").verdict
        == "rejected"
    )


@pytest.mark.parametrize("actor", ["ann", "nobody", ""])
def test_people_without_the_role_cannot_request_or_decide_a_review(
    service: Any, actor: str
) -> None:
    errors = import_module("ledger.kernel.errors")

    with pytest.raises(errors.ServiceError, match="with one of the roles analyst"):
        request(service, actor=actor)
    with pytest.raises(errors.ServiceError, match="with one of the roles"):
        service.decide_review(request(service), decision(service), actor=actor)
    with pytest.raises(errors.ServiceError, match="no key differs"):
        request(service, keys=set())


def test_a_decided_review_is_not_decided_again(service: Any) -> None:
    errors = import_module("ledger.kernel.errors")
    found = approved(service)

    with pytest.raises(errors.Conflict, match="olga has approved this difference already"):
        service.decide_review(found, decision(service, "rejected"), actor="ada")


def test_a_switch_within_the_approved_keys_passes(service: Any, sinks: psycopg.Connection) -> None:
    approved(service)
    known = approval(sinks)

    refuse_unapproved(sinks, known, comparison(), by="otto")
    refuse_unapproved(sinks, known, comparison(*KEYS), by="otto")

    assert known.keys == KEYS
    assert known.as_json() == {
        "digest": DIGEST,
        "requested_by": "ada",
        "approved_by": "olga",
        "growth": 0,
    }


def test_one_more_key_lapses_the_approval(service: Any, sinks: psycopg.Connection) -> None:
    approved(service)
    one_more = comparison(*KEYS, ("price", "L1|SOAP"))

    with pytest.raises(StackError, match=r"has lapsed: 1 of 4 .* price of L1\|SOAP; nothing was"):
        refuse_unapproved(sinks, approval(sinks), one_more, by="otto")

    with pytest.raises(StackError, match=r"is lapsed: 1 of 4 differing keys not approved"):
        approval(sinks)
    again = service.decide_review(request(service), decision(service), actor="olga")
    assert again.verdict == "approved"
    assert approval(sinks).keys == KEYS


def test_an_approval_allows_no_more_new_keys_than_its_growth(
    service: Any, sinks: psycopg.Connection
) -> None:
    service.decide_review(request(service), decision(service, growth=1), actor="olga")
    one_more = comparison(*KEYS, ("price", "L1|SOAP"))
    two_more = comparison(*KEYS, ("price", "L1|SOAP"), ("price", "L1|OIL"))

    refuse_unapproved(sinks, approval(sinks), one_more, by="otto")

    with pytest.raises(StackError, match="2 of 5 differing keys not approved, 1 accepted"):
        refuse_unapproved(sinks, approval(sinks), two_more, by="otto")


def test_without_an_approval_no_key_may_differ(sinks: psycopg.Connection) -> None:
    refuse_unapproved(sinks, None, comparison(), by="otto")

    with pytest.raises(StackError, match="differs from 2 in 1 key, and no difference is approved"):
        refuse_unapproved(sinks, None, comparison(("price", "L1|TEA")), by="otto")


def test_a_digest_without_approval_switches_nothing(
    service: Any, sinks: psycopg.Connection
) -> None:
    with pytest.raises(StackError, match="no review abababababab of logic revisions 2 and 3"):
        approval(sinks)
    waiting = request(service)
    with pytest.raises(StackError, match="is waiting; nothing was switched"):
        approval(sinks)
    with pytest.raises(StackError, match=r"no review \w+ of logic revisions 2 and 4"):
        approval_of(sinks, DIGEST, former=2, revision=4)
    with pytest.raises(StackError, match="expected 8 or more characters"):
        approval(sinks, DIGEST[:7])
    service.decide_review(
        waiting, decision(service, "rejected", reason="too expensive"), actor="olga"
    )
    with pytest.raises(StackError, match="is rejected: too expensive"):
        approval(sinks)


@pytest.fixture(name="command")
def a_command(service: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(backfill_review, "connect_django", lambda: None)  # connected by a fixture

    def run(*arguments: str, typed: str = "") -> Result:
        return CliRunner().invoke(app, ["backfill", *arguments], input=typed)

    with override_settings(SECOND_FACTOR_ROLES=()):
        yield run


def test_a_person_who_needs_a_second_factor_sets_it_up_first(command: Any, service: Any) -> None:
    request(service)

    with override_settings(SECOND_FACTOR_ROLES=("operator",)):
        refused = command("approve", DIGEST, "--by", "olga", typed=f"{PASSWORD}\n")

    assert "olga has to set up a second factor first" in str(refused.exception)


def test_a_second_factor_is_asked_and_a_wrong_or_unreadable_one_refused(
    command: Any, service: Any, people: psycopg.Connection
) -> None:
    request(service)
    factor = import_module("webui.accounts.second_factor")
    user = import_module("ledger.people").User.objects.get(username="olga")
    [code, *_] = factor.enrol(user, factor.new_secret(), 0)

    wrong = command("approve", DIGEST, "--by", "olga", typed=f"{PASSWORD}\n000\n")
    right = command("approve", DIGEST, "--by", "olga", typed=f"{PASSWORD}\n{code}\n")

    assert "wrong one-time code for olga; nothing was written" in str(wrong.exception)
    assert right.exit_code == 0, right.exception

    with override_settings(SECRET_KEY="another", SECRET_KEY_FALLBACKS=[]):  # noqa: S106 -- of a test
        unreadable = command("reject", DIGEST, "--by", "olga", "--reason", "x",
                             typed=f"{PASSWORD}\n123456\n")  # fmt: skip
    assert "was encrypted with another secret key; nothing was written" in str(unreadable.exception)


def test_the_sink_role_can_write_only_lapse_verdicts(
    service: Any, sinks: psycopg.Connection
) -> None:
    review = request(service)

    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="may let a review lapse"):
        sinks.execute(
            "INSERT INTO app.diff_verdict (review, requested_by, verdict, decided_by)"
            " VALUES (%s, 'ada', 'approved', 'olga')",
            (review.id,),
        )


def test_approving_needs_the_password_of_the_named_person(command: Any, service: Any) -> None:
    request(service)

    wrong = command("approve", DIGEST[:12], "--by", "olga", typed=f"{WRONG}\n")
    right = command("approve", DIGEST[:12], typed=f"olga\n{PASSWORD}\n")
    listed = command("reviews")

    assert wrong.exit_code == 1
    assert "wrong name or password for olga; nothing was written" in str(wrong.exception)
    assert right.exit_code == 0, right.exception
    steps = [line.split("  ")[0] for line in right.stdout.splitlines()[-3:]]
    expected = ["in the source tree of the new rules", "after the publication", "finally"]
    assert steps == expected, right.stdout
    assert "inventory backfill publish 3 --code ." in right.stdout
    assert f"inventory backfill shadow 3 --code . --approval {DIGEST[:12]}" in right.stdout
    assert f"inventory backfill cutover 3 --approval {DIGEST[:12]}" in right.stdout
    assert "olga" in listed.stdout
    assert "approved" in listed.stdout
    assert "1 review" in listed.stdout
    assert "reviews" not in listed.stdout


@pytest.mark.parametrize("typed", ["", "\n"])
def test_a_missing_password_is_reported_as_missing_and_not_as_wrong(
    command: Any, service: Any, typed: str
) -> None:
    request(service)

    refused = str(command("approve", DIGEST, "--by", "olga", typed=typed).exception)

    assert "no password of olga was given; nothing was written" in refused
    assert "standard input" in refused


def test_a_password_file_may_have_dos_line_ends(command: Any, service: Any) -> None:
    request(service)

    done = command("approve", DIGEST, "--by", "olga", typed=f"{PASSWORD}\r\n")

    assert done.exit_code == 0, done.exception


def test_the_requester_is_refused_without_a_traceback(
    command: Any, service: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    request(service)
    monkeypatch.setattr(sys, "argv", ["inventory", "backfill", "approve", DIGEST, "--by", "ada"])
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{PASSWORD}\n"))

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 1
    assert "error: actor: you have requested this review" in capsys.readouterr().err


def test_an_unknown_digest_is_refused_before_a_password_is_asked(command: Any) -> None:
    for digest, problem in ((DIGEST[:12], "it fits 0 reviews"), (DIGEST[:7], "at least 8 char")):
        refused = command("reject", digest, "--by", "olga", "--reason", "no")
        assert problem in str(refused.exception)


def test_password_attempts_on_the_command_line_are_limited(command: Any, service: Any) -> None:
    request(service)

    answers = [
        str(command("approve", DIGEST, "--by", "olga", typed=f"{WRONG}\n").exception)
        for _ in range(6)
    ]

    assert all("wrong name or password" in answer for answer in answers[:5])
    assert "too many attempts to log in as olga: wait" in answers[5]
