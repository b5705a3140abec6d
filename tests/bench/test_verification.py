"""Rounds of `inventory bench verify`: planted errors, and the judgement of each answer."""

import pytest

from bench.verification.planted_errors import KINDS
from bench.verification.report import SOUND, Plan, Report, Round

KEY = "VFY-1|Q1"
NAMED = frozenset({KEY})


def ended(*rounds: Round, at_rest: int = 0, problem: str | None = None) -> int:
    plan = Plan(len(rounds), 165, 1, 2, 300.0)
    return Report(plan, list(rounds), at_rest=at_rest, problem=problem).exit_code


def test_every_kind_of_planted_error_alternates_with_sound_rounds() -> None:
    plan = Plan(28, 165, 1, 2, 300.0)

    drawn = [plan.kind_of(number) for number in range(28)]

    assert drawn[::2] == [SOUND] * 14
    assert drawn[1::2] == [*KINDS, *KINDS]


@pytest.mark.parametrize(
    "answer",
    [
        Round(SOUND, 1, 1.0, named=NAMED),
        Round(KINDS[0], 0, 1.0, what=KEY, is_there=True),
        Round(KINDS[0], 1, 1.0, what=KEY, is_there=True, named=frozenset({"VFY-1|Q2"})),
        Round(KINDS[0], 1, 1.0, what=KEY, is_there=True, named=NAMED | {"VFY-1|Q2"}),
    ],
    ids=["false alarm", "missed", "another key", "one key too many"],
)
def test_a_wrong_answer_is_exit_code_1(answer: Round) -> None:
    assert answer.is_wrong
    assert ended(Round(SOUND, 0, 1.0), answer) == 1
    assert "WRONG" in answer.as_text()


@pytest.mark.parametrize(
    "answer",
    [
        Round(SOUND, 2, 1.0, behind="heartbeats"),
        Round(KINDS[0], 2, 1.0, what=KEY, is_there=True),
        Round(KINDS[0], 0, 1.0, what=KEY, is_there=False, repaired=2),
    ],
    ids=["behind", "behind with a wrong row", "repaired before it was compared"],
)
def test_an_inconclusive_round_gives_exit_code_2(answer: Round) -> None:
    assert not answer.is_wrong
    assert ended(Round(SOUND, 0, 1.0), answer) == 2


def test_no_alarm_on_sound_data_and_the_right_key_on_an_error_give_exit_code_0() -> None:
    right = [Round(SOUND, 0, 1.0), Round(KINDS[0], 1, 1.0, what=KEY, is_there=True, named=NAMED)]

    assert ended(*right) == 0
    assert ended(*right, at_rest=1) == 1
    assert ended(*right, at_rest=2) == 2
    assert ended(*right, problem="a worker did not come back") == 2
