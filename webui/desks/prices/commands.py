"""Commands that people send from the pricing desk, with the messages that confirm them."""

from typing import Any, assert_never

from django.utils.translation import gettext, ngettext

from ledger.kernel.amounts import amount_text
from ledger.kernel.proposal_rows import PRICES
from ledger.kernel.proposals import last_decision
from ledger.messages import Message, gettext_noop
from ledger.services import (
    Conflict,
    PriceWritten,
    PriceWrittenBefore,
    ServiceError,
    approve_price,
    reject_price,
    set_price_kill_switch,
    snooze_price,
)
from webui.desks.prices.forms import ON, StopForm
from webui.readmodel.figures import counted_text
from webui.shell.desk import Command
from webui.shell.forms import SnoozeForm
from webui.shell.templatetags.shell import when


def execute(command: Command) -> str:
    """Approve, reject or snooze one proposed price; return the message for the person."""
    common: dict[str, Any] = {
        "proposal_id": command.proposal,
        "shown_revision": command.shown_revision,
        "actor": command.actor,
        "command_id": command.command_id,
    }
    match command.action:
        case "approve":
            return _approved(command.proposal, approve_price(**common))
        case "reject":
            reject_price(**common, reason=command.reason)
            return gettext(
                "Rejected. The rules propose no price for the item during its cool-down."
            )
        case "snooze":
            snooze = SnoozeForm(command.typed)
            snooze_price(**common, until_at=snooze.length())
            return gettext("Snoozed for %(days)s.") % {
                "days": counted_text(snooze.cleaned()["days"], "day")
            }
        case unknown:
            field, rule = "action", gettext_noop("approve, reject or snooze")
            raise ServiceError(field, unknown, rule)


def _approved(proposal: str, outcome: PriceWritten | PriceWrittenBefore) -> str:
    holds = gettext("%(price_minor)s applies from %(effective_from)s on") % {
        "price_minor": amount_text(outcome.price_minor),
        "effective_from": when(outcome.effective_from),
    }
    match outcome:
        case PriceWritten():
            return gettext("Approved: %(holds)s.") % {"holds": holds}
        case PriceWrittenBefore():
            # The second click of a double click repeats the command id, so its outcome is
            # `PriceWritten` again. Here, another person or page has approved this price.
            who, at = last_decision(PRICES, proposal)
            message = Message(
                "%(who)s has already approved this price, %(at)s: %(holds)s",
                who=who,
                at=at,
                holds=holds,
            )
            raise Conflict(message)
        case _:
            assert_never(outcome)


def set_stop(form: StopForm, actor: str) -> str:
    """Stop all rule-made prices, or allow them again; return the message for the person."""
    is_on = form.cleaned()["stop"] == ON
    done = set_price_kill_switch(is_on=is_on, actor=actor)
    if not is_on:
        return gettext("Rule-made prices may be written again.")
    stopped = gettext("Rule-made prices are stopped.")
    if done.rolled_back == 0:
        return stopped
    rolled_back = ngettext(
        "%(prices)s scheduled price was rolled back.",
        "%(prices)s scheduled prices were rolled back.",
        done.rolled_back,
    )
    return f"{stopped} {rolled_back % {'prices': done.rolled_back}}"
