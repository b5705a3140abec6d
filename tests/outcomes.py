"""Readers of a fold result. Only an applied record has outputs or a late sale.

`applied` and `refused` return the result with its exact type, and fail for the other outcome.
"""

from inventory.fold.record import Applied, FoldResult, Refused
from inventory.model.outputs import LateSale, Output


def outputs_of(result: FoldResult) -> tuple[Output, ...]:
    return result.outputs if isinstance(result, Applied) else ()


def late_of(result: FoldResult) -> LateSale | None:
    return result.late if isinstance(result, Applied) else None


def applied(result: FoldResult) -> Applied:
    assert isinstance(result, Applied)
    return result


def refused(result: FoldResult) -> Refused:
    assert isinstance(result, Refused)
    return result
