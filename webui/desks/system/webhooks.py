"""The operators' page of webhooks: every URL, its deliveries, and its dead messages."""

from uuid import uuid4

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from ledger.webhooks import queries
from ledger.webhooks.queries import DeadMessage
from ledger.webhooks.registry import (
    Which,
    delete_webhook,
    replay_messages,
    resume_webhook,
    send_test,
    stop_webhook,
)
from webui.accounts.roles import OVERSEE_WEBHOOKS, requires
from webui.desks.system.webhooks_forms import WebhookForm
from webui.readmodel.figures import counted_text
from webui.shell.commands import run_command
from webui.shell.page import render_page


@require_GET
@requires(OVERSEE_WEBHOOKS, company=True)
def webhooks(request: HttpRequest) -> HttpResponse:
    """List the URLs that receive decisions, with their deliveries and dead messages."""
    return _show(request, "", "", 200)


def _show(request: HttpRequest, refused: str, refusal: str, status: int) -> HttpResponse:
    found = queries.webhooks()
    dead: dict[int, list[DeadMessage]] = {}
    for message in queries.dead_messages([hook.id for hook in found if hook.dead]):
        dead.setdefault(message.webhook_id, []).append(message)
    context = {
        "rows": [(hook, dead.get(hook.id, [])) for hook in found],
        "most_counted": queries.MOST_COUNTED,
        "refused": refused,
        "refusal": refusal,
        # Pass the function, not an id: each form of the page needs its own id.
        "command_id": uuid4,
    }
    return render_page(request, "system/webhooks.html", context, status=status)


@require_POST
@requires(OVERSEE_WEBHOOKS, company=True)
def act(request: HttpRequest) -> HttpResponse:
    """Test, stop, resume or delete a webhook, or send its dead messages again."""
    form = WebhookForm(request.POST)

    def show(refusal: str, status: int) -> HttpResponse:
        return _show(request, form.text("webhook"), refusal, status)

    return run_command(
        request, lambda: _execute(form, request.user.get_username()), show, reverse("webhooks")
    )


def _execute(form: WebhookForm, actor: str) -> str:
    values = form.cleaned()
    which = Which(values["webhook"], actor, command_id=values["command_id"])
    match values["action"]:
        case "test":
            send_test(which)
            return gettext("A test message is on its way. Reload the page to see its result.")
        case "stop":
            stop_webhook(which)
            return gettext("Stopped. Its events wait.")
        case "resume":
            resume_webhook(which)
            return gettext("Resumed. The events that waited are sent now.")
        case "replay":
            sent = replay_messages(which, message_id=values["message"])
            return gettext("%(sent)s queued again.") % {"sent": counted_text(sent, "message")}
        case _:
            delete_webhook(which)
            return gettext("Deleted. Nothing is sent to this address any more.")
