"""Parse the options `--set` and `--where` of commands that recompute.

A malformed option raises `BadParameter`, a `Damage` that the command line prints. The parser itself
is in `cdc.contracts.policy_parameters`, because the page History uses it, too.
"""

from collections.abc import Iterator, Sequence

from analytics.damage import Damage
from cdc.contracts import policy_parameters
from cdc.contracts.policy_parameters import WrongParameter, cell_text
from inventory.parameters.overlay import Cell, OverlayRule


class BadParameter(Damage, ValueError):
    """A parameter or condition has an unknown column, or a value that the column can't have."""

    exit_code = 2


def rule_of(changes: Sequence[str], where: Sequence[str] = ()) -> OverlayRule:
    """Return the rule that sets `changes` in each policy row that meets all conditions in `where`.

    Raises:
        BadParameter: a text is malformed. The message names option, column and value.
    """
    try:
        return policy_parameters.rule_of(changes, where)
    except WrongParameter as error:
        step = "docs/domain.md 2.6 lists the columns"
        raise BadParameter(str(error), "nothing was computed", step) from error


def text_of(rule: OverlayRule) -> str:
    """Return the rule in one line: `hysteresis_units = 3 where replenish_family = sS`."""
    changes = ", ".join(_texts(rule.changes))
    conditions = ", ".join(_texts(rule.where))
    return f"{changes} where {conditions}" if conditions else f"{changes} for every item"


def _texts(cells: Sequence[tuple[str, Cell]]) -> Iterator[str]:
    for column, cell in cells:
        yield f"{column} = {cell_text(cell)}"
