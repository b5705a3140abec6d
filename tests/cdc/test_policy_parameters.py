"""Values of `--set` and `--where`: parsed, or refused with the expected form."""

import pytest

from cdc.contracts.history_requests import first_problem
from cdc.contracts.policy_parameters import WrongParameter, cell_text, rule_of


def test_values_are_parsed_by_their_column_and_written_the_same_way() -> None:
    found = rule_of(
        [
            *("hysteresis_units=3", "ladder_permille=100,250", "scarce_enabled=true"),
            *("supplier=null", "family=sS"),
        ],
        ["family=sS, store=BERLIN-1", "item=A,B C", "scarce_enabled=false"],
    )

    assert [cell_text(cell) for _, cell in found.changes] == [
        *("3", "100,250", "true", "null", "sS")
    ]
    assert found.where == (
        ("replenish_family", "sS"),
        ("location", "BERLIN-1"),
        ("sku", "A,B C"),
        ("scarce_enabled", False),
    )
    assert cell_text(found.where[-1][1]) == "false"


@pytest.mark.parametrize(
    ("change", "where", "problem"),
    [
        ("hysteresis=3", "", "no such policy column; similar columns: hysteresis_units"),
        ("hysteresis_units", "", "expected column=value"),
        ("hysteresis_units=many", "", "expected a whole number"),
        ("ladder_permille=1,x", "", "expected whole numbers such as 100,200"),
        ("scarce_enabled=yes", "", "expected true or false"),
        ("pack_units=0", "", "pack_units must be an integer 1…1000000, got 0"),
        ("replenish_family=sXS", "", "replenish_family must be one of"),
        ("safety_days=2", "", "no such policy column; similar columns: safety_centidays"),
        ("reviewed_at=3", "", "known columns: status, clock_mode, "),
        ("reviewed_at=3", "", ", phantom_lambda_micro"),
        ("location=X", "", "no such policy column"),
        ("pack_units=2", "endings=9", "--where 'endings=9': no such policy column"),
    ],
)
def test_a_wrong_parameter_is_named_with_the_expected_form(
    change: str, where: str, problem: str
) -> None:
    with pytest.raises(WrongParameter) as refused:
        rule_of([change], [where] if where else [])

    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"set": "hysteresis_units=3", "where": "family=sS"}, None),
        ({"set": "safety_days=2"}, ("set", "no such policy column")),
        ({"set": "pack_units=2", "where": "endings=9"}, ("where", "no such policy column")),
    ],
)
def test_a_request_names_its_wrong_parameter(
    given: dict[str, str], problem: tuple[str, str] | None
) -> None:
    found = first_problem("run", given)

    assert (found and (found[0], found[1].partition(";")[0])) == problem
