"""Forms of logins, invitations, second factors and sessions.

A password is read without stripping: it may begin or end with a blank.
"""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.forms import UsernameField
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from typing_extensions import override

from webui.accounts.api_tokens import SCOPES
from webui.accounts.people import LONGEST_NAME


class AccountForm(forms.Form):
    """Account name of a login, for counting the attempt before Django checks the password.

    Django's login form has the same field. The field strips blanks and normalizes letters (NFKC),
    so all spellings that log in to an account have the same counters.
    """

    username = UsernameField(max_length=LONGEST_NAME)

    @property
    def account(self) -> str:
        """Return the name, or an empty text if it is missing or too long for any account."""
        return str(self.cleaned_data["username"]) if self.is_valid() else ""


class NextForm(forms.Form):
    """The URL to open after the next login."""

    next = forms.CharField(required=False, max_length=2_000)

    @property
    def target(self) -> str:
        """Return the URL, or an empty text if none was sent or it is refused."""
        return str(self.cleaned_data["next"]) if self.is_valid() else ""


class LanguageForm(NextForm):
    """The language that a person chooses for the pages."""

    language = forms.ChoiceField(choices=lambda: settings.LANGUAGES)

    @property
    def code(self) -> str:
        """Return the code of the language, or an empty text if the settings don't list it."""
        return str(self.cleaned_data["language"]) if self.is_valid() else ""


class CodeForm(forms.Form):
    """A one-time code, or a recovery code."""

    code = forms.CharField()

    def clean_code(self) -> str:
        """Return the code without blanks. Refuse characters outside ASCII, which no code has."""
        code = str(self.cleaned_data["code"]).replace(" ", "")
        if not code.isascii():
            message = gettext("a code has ASCII characters only")
            raise ValidationError(message, code="invalid")
        return code

    @property
    def typed(self) -> str:
        """Return the code without blanks, or an empty text if it is refused."""
        return str(self.cleaned_data["code"]) if self.is_valid() else ""


class FactorForm(forms.Form):
    """A change of one's own second factor, with a code: `action` is `enrol` or `remove`."""

    action = forms.CharField(required=False, strip=False)


class NewPasswordForm(forms.Form):
    """A new password, typed twice equally. The view checks the rules for passwords afterwards."""

    password = forms.CharField(required=False, strip=False)
    again = forms.CharField(required=False, strip=False)

    @override
    def clean(self) -> dict[str, Any]:
        if self.cleaned_data.get("password") != self.cleaned_data.get("again"):
            message = gettext("The two passwords differ. None was stored.")
            raise ValidationError(message, code="password_mismatch")
        return self.cleaned_data


class EndForm(forms.Form):
    """The session to end, and the person's password, which they type again.

    `end` is the number of one session, or `others` for all sessions but the present one.
    """

    password = forms.CharField(strip=False)
    end = forms.CharField(required=False, strip=False)


class TokenForm(forms.Form):
    """A new token of the API, and the person's password, which they type again."""

    password = forms.CharField(required=False, strip=False)
    name = forms.CharField(required=False)
    scopes = forms.MultipleChoiceField(required=False, choices=[*SCOPES.items()])
    days = forms.IntegerField(required=False)

    @property
    def password_text(self) -> str:
        """Return the password as it was typed."""
        return str(self.data.get("password", ""))

    def values(self) -> dict[str, Any]:
        """Return `name`, `scopes` and `days` for `create_token`, which checks them.

        A value that is missing or can't be read is "", [] or 0.
        """
        self.is_valid()
        given = self.cleaned_data
        return {
            "name": given.get("name", ""),
            "scopes": given.get("scopes", []),
            "days": given.get("days") or 0,
        }


class EndTokenForm(forms.Form):
    """The token to end."""

    end = forms.IntegerField(min_value=1, max_value=2**63 - 1)
