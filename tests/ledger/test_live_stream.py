"""The live stream accepts only keys that the server signed for this person."""

from importlib import import_module

import psycopg
import pytest
from django.test import override_settings

from tests.ledger.live import asked_by, refusal_of
from tests.ledger.pages import person


@pytest.mark.parametrize("signed", ["of another person", "with a changed signature", "not at all"])
def test_keys_that_were_not_signed_for_this_person_are_refused(
    ledger: psycopg.Connection, signed: str
) -> None:
    access = import_module("webui.live.access")
    people = import_module("ledger.people")
    ann = person("associate", "ann")
    mine, foreign = (
        people.User.objects.get_or_create(username=name)[0].pk for name in ("ann", "bob")
    )
    keys = {
        "of another person": access.sign_keys(foreign, ["L|S"]),
        "with a changed signature": access.sign_keys(mine, ["L|S"])[:-4] + "AAAA",
        "not at all": "L|S",
    }[signed]

    assert ann.get("/live/stream", {"keys": keys}).status_code == 403


def test_a_session_that_has_ended_opens_no_stream(ledger: psycopg.Connection) -> None:
    """A stream checks its session itself: with `SessionRules`, an open page would prolong it."""
    access = import_module("webui.live.access")
    sessions = import_module("webui.accounts.sessions")
    ann = person("associate", "ann")
    people = import_module("ledger.people")
    keys = access.sign_keys(people.User.objects.get(username="ann").pk, ["L|S"])
    before = ann.get("/live/stream", {"keys": keys}).status_code
    session = ann.session
    session[sessions.ACTIVE] = 1.0
    session.save()

    after = ann.get("/live/stream", {"keys": keys}).status_code

    assert (before, after) == (200, 401)


def test_a_session_without_the_second_factor_of_its_role_opens_no_stream(
    ledger: psycopg.Connection,
) -> None:
    access = import_module("webui.live.access")
    people = import_module("ledger.people")
    ann = person("associate", "ann")
    keys = access.sign_keys(people.User.objects.get(username="ann").pk, ["L|S"])
    session = ann.session
    del session["second_factor_at"]
    session.save()

    with override_settings(SECOND_FACTOR_ROLES=["associate"]):
        refused = ann.get("/live/stream", {"keys": keys})
        ends = refusal_of(asked_by(ann, ["L|S"]))

    assert (refused.status_code, ends) == (403, "set up your second factor first")
    assert refusal_of(asked_by(ann, ["L|S"])) == ""
