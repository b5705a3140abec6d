"""The kill switch for rule-made prices in all stores: read it, turn it on or off."""

from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Router, Schema
from pydantic import Field

from ledger.services import set_price_kill_switch
from webui.accounts.api_tokens import PRICES_READ, PRICES_STOP
from webui.accounts.roles import SEE, STOP_PRICES
from webui.api.access import Token, caller_of
from webui.api.answers import CommandId, Given, described
from webui.readmodel.price_stop import price_stop

router = Router(tags=["prices"])


class PriceStopState(Schema):
    """The state of the kill switch. While `is_stopped` is true, no proposed price can be approved.

    `updated_by` and `updated_at` belong to the last change of the kill switch.
    """

    is_stopped: bool
    updated_by: str | None
    updated_at: datetime


class StopPrices(Given):
    """Stop rule-made prices in every store. People can still set prices."""

    action: Literal["stop"]


class ReleasePrices(Given):
    """Allow rule-made prices in every store again."""

    action: Literal["release"]


StopCommand = Annotated[StopPrices | ReleasePrices, Field(discriminator="action")]


@router.get(
    "/price-stop",
    auth=Token(PRICES_READ, SEE),
    response=PriceStopState,
    operation_id="getPriceStop",
)
def get_price_stop(request: HttpRequest) -> PriceStopState:
    """Return the state of the kill switch, which stops all rule-made prices.

    Author and time are those of the last change of the kill switch.
    """
    return _state()


@router.post(
    "/price-stop",
    auth=Token(PRICES_STOP, STOP_PRICES),
    response=PriceStopState,
    operation_id="changePriceStop",
)
def change_price_stop(
    request: HttpRequest, body: StopCommand, command_id: CommandId
) -> PriceStopState:
    """Stop rule-made prices, or allow them again; the token's owner needs access to every store.

    A stop also rolls back rule-made prices that are not in force yet.

    A repeated command returns the present state.
    """
    is_on = isinstance(body, StopPrices)
    set_price_kill_switch(is_on=is_on, actor=caller_of(request).name, command_id=command_id)
    return _state()


def _state() -> PriceStopState:
    found: Any = price_stop()
    return described(PriceStopState, found)
