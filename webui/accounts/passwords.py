"""Change of one's own password, and validators against passwords made of well-known words."""

import re
from typing import Final

from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods
from typing_extensions import override

from ledger.kernel.transactions import ledger_transaction
from ledger.people import ROLES
from webui.accounts import attempts, audit
from webui.accounts.api_tokens import end_tokens
from webui.accounts.attempts import Attempt
from webui.accounts.sources import source_of
from webui.accounts.views import WRONG, answer_attempt, desk_of

# Fewest characters that must remain of a password after the known words are removed.
_LEAST_OTHER: Final = 8
_LONGEST_PATTERN: Final = 8
WORDS: Final = ("inventory", "retail", "stock", "password", "store", "warehouse", *ROLES)


class NoKnownWords:
    """Validator that refuses passwords made mostly of names of the company, product or roles."""

    def validate(self, password: str, user: User | None = None) -> None:
        """Raise ValidationError if fewer than eight characters remain without known words.

        Known words are those in `WORDS`, for example the roles, and the words of the company's name
        and of the user's name.
        """
        company = re.findall(r"\w{3,}", settings.COMPANY_NAME.lower())
        name = [] if user is None else re.findall(r"\w{3,}", user.get_username().lower())
        left = password.lower()
        for word in sorted({*WORDS, *company, *name}, key=len, reverse=True):
            left = left.replace(word, "")
        if len(left) < _LEAST_OTHER:
            message = gettext(
                "This password is made of names that others guess. Choose other words."
            )
            raise ValidationError(message, code="password_of_known_words")

    def get_help_text(self) -> str:
        """Return the rule in a sentence."""
        return gettext(
            "If your name and the names of company, product and roles are removed from the "
            "password, at least eight characters must remain."
        )


class NoDecoratedCommon(CommonPasswordValidator):
    """Validator that refuses one or two common passwords, also with digits and signs around them.

    A password needs 12 characters. Only 190 of Django's 20,000 common passwords are that long.
    People lengthen shorter ones: `sunshine2026!`, `dragondragon`, `princess-sunshine`.
    """

    @override
    def validate(self, password: str, user: User | None = None) -> None:
        """Raise ValidationError for one or two common passwords, and for a repeated part."""
        text = password.lower()
        core = re.sub(r"^[\W\d_]+|[\W\d_]+$", "", text)
        letters = re.sub(r"[\W_]+", "", text)
        if self._is_common(core) or self._is_of_two(letters) or self._is_of_two(core):
            message = gettext("This password is made of common passwords. Choose other words.")
            raise ValidationError(message, code="password_of_common_ones")

    @override
    def get_help_text(self) -> str:
        """Return the rule in a sentence."""
        return gettext("A common password is easy to guess, even with digits and signs around it.")

    def _is_common(self, text: str) -> bool:
        return bool(text) and (text in self.passwords or text == text[0] * len(text))

    def _is_of_two(self, text: str) -> bool:
        """Return True for two common passwords in a row, and for one part that is repeated.

        Examples are `dragonprincess` and `abcabcabc`. Each of the two passwords has at least 4
        characters, the repeated part at most 8.
        """
        cuts = range(4, len(text) - 3)
        halves = any(text[:cut] in self.passwords and text[cut:] in self.passwords for cut in cuts)
        periods = range(1, min(_LONGEST_PATTERN, len(text) // 2) + 1)
        return halves or any(text == text[:cut] * (len(text) // cut) for cut in periods)


@never_cache
@sensitive_post_parameters()
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def change(request: HttpRequest) -> HttpResponse:
    """Change one's own password; every other session and all tokens of this person end."""
    return answer_attempt(request, _shown, _change)


def _change(request: HttpRequest, user: User, attempt: Attempt) -> HttpResponse:
    form = PasswordChangeForm(user, request.POST)
    if not form.is_valid():
        if "old_password" in form.errors:
            audit.note("password_wrong", user, source=source_of(request))
        else:  # only the new password is refused
            attempts.succeeded(attempt)
        return _shown(request, user, status=WRONG, form=form)
    attempts.succeeded(attempt)
    with ledger_transaction():
        form.save()
        tokens = end_tokens(user.pk, user.get_username())
        audit.note("password_changed", user, source=source_of(request), tokens=tokens)
    update_session_auth_hash(request, user)
    return redirect("password-changed")


@login_required
def changed(request: HttpRequest) -> HttpResponse:
    """Show that the password was changed."""
    assert isinstance(request.user, User)  # noqa: S101 -- login_required let only people through
    return render(request, "accounts/password_changed.html", {"desk": desk_of(request.user)})


def _shown(
    request: HttpRequest, user: User, *, status: int = 200, **context: object
) -> HttpResponse:
    found = {"form": PasswordChangeForm(user), "desk": desk_of(user), **context}
    return render(request, "accounts/password.html", found, status=status)
