"""Functions that return the one expected outcome of a command, and fail for every other outcome."""

from ledger.services import Adjust, Booked, Waiting, request_adjustment


def booked_id(outcome: Booked | Waiting) -> int:
    assert isinstance(outcome, Booked)
    return outcome.adjustment_id


def request_id(outcome: Booked | Waiting) -> int:
    assert isinstance(outcome, Waiting)
    return outcome.request_id


def waiting_request(wanted: Adjust, actor: str) -> int:
    """Request an adjustment that waits for a second person; return the id of the request."""
    return request_id(request_adjustment(wanted=wanted, actor=actor))
