"""The policy of an item on its page, with a form for some of its columns.

People with the right *manage orders* set the value up to which rules may order. People with the
right *decide prices* set whether rules write prices, and the largest change that a rule may
approve. The page shows all other columns without a form.
"""

from typing import Any, Final
from uuid import uuid4

from inventory.replenishment.families import FAMILIES
from ledger.items.automation import set_automation
from webui.accounts.roles import DECIDE_PRICES, MANAGE_ORDERS
from webui.desks.stock.forms import PRICE_MODES, PolicyForm
from webui.readmodel.explain import Policy
from webui.readmodel.figures import money_text
from webui.shell.commands import changed_text
from webui.shell.desk import Refusal, shown_values

_FIELDS_OF: Final = {
    MANAGE_ORDERS: ("auto_max_minor",),
    DECIDE_PRICES: ("price_mode", "auto_permille"),
}


def fields_of(may: frozenset[str]) -> tuple[str, ...]:
    """Return the columns that a person with the rights `may` may change."""
    return tuple(name for ability, names in _FIELDS_OF.items() if ability in may for name in names)


def policy_card(
    policy: Policy | None, may: frozenset[str], refusal: Refusal | None
) -> dict[str, Any]:
    """Return the policy for the template, with a form if the person may change a column.

    The entry `policy_shown` of the result has, as JSON, the values that the person has seen in the
    form. When the form is sent, the ledger compares these values with the policy.
    """
    if policy is None:
        return {"policy": None}
    names = fields_of(may)
    typed = refusal.form if refusal else {}
    written = {name: getattr(policy, name) for name in names}
    fields = written | {"auto_max": money_text(policy.auto_max_minor)} | typed
    return {
        "policy": policy,
        "family": FAMILIES[policy.replenish_family].summary,
        "price_mode": PRICE_MODES[policy.price_mode],
        "price_modes": PRICE_MODES,
        "policy_form": fields if names else {},
        "policy_shown": shown_values(written, refusal),
        "policy_refusal": refusal,
        "policy_command": uuid4(),
    }


def change(form: PolicyForm, *, location: str, sku: str, actor: str) -> str:
    """Write the policy values of the form; return the message for the person."""
    moved = set_automation(
        location=location,
        sku=sku,
        changes=form.changes(),
        shown=form.cleaned()["shown"],
        actor=actor,
        command_id=form.cleaned()["command_id"],
    )
    return changed_text(moved)
