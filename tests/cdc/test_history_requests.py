"""The commands of the analyst desk's requests, and the rules of their arguments."""

import pytest

from cdc.contracts import history_requests as requests
from cdc.contracts.history_requests import command_of, first_problem, given_arguments

DIGEST = "ab" * 6


@pytest.mark.parametrize(
    ("kind", "arguments", "command"),
    [
        ("run", {}, "backfill run"),
        (
            "run",
            {"set": "lead_time_centidays=100", "where": "family=sS", "until": "2"},
            "backfill run --until=2 --set=lead_time_centidays=100 --where=family=sS",
        ),
        ("compare", {"a": "2", "b": "3"}, "backfill diff -- 2 3"),
        ("explain", {"a": "2", "b": "3", "key": "L|TEA"}, "backfill diff --key=L|TEA -- 2 3"),
        ("review", {"a": "2", "b": "3"}, "backfill review -- 2 3"),
        ("publish", {"run": "local-b"}, "backfill publish -- local-b"),
        (
            "cutover",
            {"revision": "3", "approval": DIGEST},
            f"backfill cutover --approval={DIGEST} -- 3",
        ),
        ("rollback", {}, "backfill rollback"),
        ("prove", {"full": "yes"}, "backfill prove --full"),
        ("question", {"name": "shrink", "run": "2"}, "sql --question=shrink --run=2"),
    ],
)
def test_a_request_is_translated_to_its_command(
    kind: str, arguments: dict[str, str], command: str
) -> None:
    assert first_problem(kind, arguments) is None
    assert " ".join(command_of(kind, arguments)) == command


def test_a_sql_statement_is_one_argument_after_the_options() -> None:
    given = {"statement": "--csv SELECT 1", "run": "last"}

    assert command_of("query", given, ("--json",)) == (
        *("sql", "--history", "--run=last", "--json", "--", "--csv SELECT 1"),
    )


@pytest.mark.parametrize(
    ("kind", "arguments", "name"),
    [
        ("compare", {"a": "2"}, "b"),
        ("compare", {"a": "--out", "b": "3"}, "a"),
        ("explain", {"a": "2", "b": "3", "key": "TEA"}, "key"),
        ("run", {"set": "lead time"}, "set"),
        ("run", {"store": "../etc"}, "store"),
        ("run", {"engine": "other"}, "engine"),
        ("cutover", {"revision": "3", "approval": "abc"}, "approval"),
        ("cutover", {"revision": "0", "approval": DIGEST}, "revision"),
        ("query", {"statement": "x" * 20_001}, "statement"),
        ("query", {"statement": "SELECT \0"}, "statement"),
        ("query", {"statement": " "}, "statement"),
        ("prove", {"full": "no"}, "full"),
    ],
)
def test_a_wrong_argument_is_named_with_its_rule(
    kind: str, arguments: dict[str, str], name: str
) -> None:
    assert first_problem(kind, arguments) == (name, requests.RULES[name].words)


def test_other_and_empty_arguments_are_left_out() -> None:
    given = {"b": "3", "a": "2", "key": "", "actor": "x"}

    assert given_arguments("explain", given) == {"a": "2", "b": "3"}


def test_every_argument_has_a_rule_and_every_confirmed_kind_a_form() -> None:
    names = {name for form in requests.FORMS.values() for name in form.names()}

    assert names == set(requests.RULES)
    assert set(requests.FORMS) >= requests.CONFIRMED
