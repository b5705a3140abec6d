"""Form fields with the exact syntax that pages accept: numbers, money, spans, days, hidden values.

Django's own number and date fields follow the locale and accept more: other digits, `1e3`, `+6`.
Here, each field has one rule for its syntax. Every refusal shows the text of this rule, also the
refusal of an empty required field.
"""

import json
import re
from collections.abc import Collection, Sequence
from datetime import UTC, date, datetime
from typing import Any, Final, TypedDict, Unpack
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from typing_extensions import override

from inventory.tables.columns import QUANTITY_MAX
from ledger.kernel.zones import store_zone
from ledger.messages import Message, gettext_noop
from webui.readmodel.figures import money_text

# Enough digits for the largest order amount and the largest id; longer texts are refused.
_MOST_DIGITS: Final = 12
_MOST_DIGITS_OF_IDS: Final = 18
_AMOUNT: Final = re.compile(r"([0-9]{1,12})(?:\.([0-9]{1,2}))?")
# The only form of days that pages and API accept. Python's `fromisoformat` also accepts others,
# such as the ISO week 2026-W48-1 and 20261121.
DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def days_text(centidays: int) -> str:
    """Return the text that `DaysField` reads, with two decimals: `2.50`."""
    return f"{centidays // 100}.{centidays % 100:02}"


def is_digits(text: str, most: int = _MOST_DIGITS_OF_IDS) -> bool:
    """Return True for one to `most` ASCII digits; `str.isdigit` also accepts `²` and `٣`."""
    return text.isascii() and text.isdigit() and len(text) <= most


def _hundredths(text: str) -> int | None:
    """Return 100 times a number with at most two decimals; None for any other text."""
    found = _AMOUNT.fullmatch(text)
    return int(found[1]) * 100 + int((found[2] or "").ljust(2, "0")) if found else None


class Options(TypedDict, total=False):
    """Options that every `SyntaxField` accepts.

    If `label` is missing, refusals show the field's name.
    """

    required: bool
    label: str


class TextField(forms.CharField):
    """A text, which may be empty, without blanks at either end; the service checks it."""

    def __init__(self) -> None:
        super().__init__(required=False)


class TickField(forms.Field):
    """A tick box: True if the form's value for it contains more than white space."""

    def __init__(self) -> None:
        super().__init__(required=False)

    @override
    def to_python(self, value: Any) -> bool:
        return bool(value and str(value).strip())


class ManyField(forms.Field):
    """All values under one name, in order and without duplicates; the service checks them."""

    widget = forms.SelectMultiple

    def __init__(self) -> None:
        super().__init__(required=False)

    @override
    def to_python(self, value: Sequence[str] | None) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value or ()))


class SyntaxField(forms.Field):
    """Base of the fields that have one rule for their syntax.

    `rule` is the text of this rule: the argument, or by default the attribute of the class. `read`
    returns the value of a text, or None to refuse the text. The value of an empty text is None,
    which a required field refuses.
    """

    empty_values = (None,)
    rule = ""

    def __init__(self, *, rule: str = "", **options: Unpack[Options]) -> None:
        messages = dict.fromkeys(("required", "invalid"), rule or self.rule)
        super().__init__(error_messages=messages, **options)

    def read(self, text: str) -> object:
        """Return the value of a text that isn't empty, or None if the rule forbids it."""
        raise NotImplementedError

    @override
    def to_python(self, value: Any) -> Any:
        text = "" if value is None else str(value).strip()
        found = self.read(text) if text else None
        if text and found is None:
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        return found


class CodeField(SyntaxField):
    """One of the given codes. The default `rule` (text of the error) lists the codes."""

    def __init__(
        self, codes: Collection[str], *, rule: str = "", **options: Unpack[Options]
    ) -> None:
        self.codes = codes
        super().__init__(
            rule=rule or Message("one of %(codes)s", codes=", ".join(codes)), **options
        )

    @override
    def read(self, text: str) -> str | None:
        return text if text in self.codes else None


class WholeNumberField(SyntaxField):
    """A whole number within [low, high], in ASCII digits without signs or separators."""

    def __init__(
        self, *, low: int = 0, high: int = QUANTITY_MAX, **options: Unpack[Options]
    ) -> None:
        self.low, self.high = low, high
        super().__init__(
            rule=Message(
                "a whole number from %(low)s to %(high)s", low=f"{low:,}", high=f"{high:,}"
            ),
            **options,
        )

    @override
    def read(self, text: str) -> int | None:
        is_within = is_digits(text, _MOST_DIGITS) and self.low <= int(text) <= self.high
        return int(text) if is_within else None


class MoneyField(SyntaxField):
    """An amount like `6`, `6.49` or `1,234.50`, in minor units within [low, high].

    A text with a comma must be exactly as `money_text` writes it. `6,49` and `6,495` are refused,
    because in many countries a comma is the decimal separator.
    """

    def __init__(self, *, low: int = 0, high: int, **options: Unpack[Options]) -> None:
        self.low, self.high = low, high
        rule = Message(
            "an amount from %(low)s to %(high)s, like 6.49",
            low=money_text(low),
            high=money_text(high),
        )
        super().__init__(rule=rule, **options)

    @override
    def read(self, text: str) -> int | None:
        minor = _hundredths(text.replace(",", ""))
        if minor is None or not self.low <= minor <= self.high:
            return None
        return minor if "," not in text or text == money_text(minor) else None


class DaysField(SyntaxField):
    """A time like `3`, `2.5` or `0.25` days; its value is in hundredths of a day in [low, high]."""

    def __init__(self, *, low: int = 0, high: int, **options: Unpack[Options]) -> None:
        self.low, self.high = low, high
        super().__init__(
            rule=Message(
                "days from %(low)s to %(high)s, like 2.5",
                low=f"{low // 100:,}",
                high=f"{high // 100:,}",
            ),
            **options,
        )

    @override
    def read(self, text: str) -> int | None:
        centidays = _hundredths(text)
        is_within = centidays is not None and self.low <= centidays <= self.high
        return centidays if is_within else None


class PercentField(SyntaxField):
    """A share like `19` or `7.5` per cent; its value is a number of parts within [low, high].

    One per cent is `parts` parts: 100 for a column in ten-thousandths, 10 for one in thousandths.
    """

    def __init__(self, *, parts: int, low: int = 0, high: int, **options: Unpack[Options]) -> None:
        self.low, self.high, self.step = low, high, 100 // parts
        super().__init__(
            rule=Message(
                "per cent from %(low)s to %(high)s, like 7.5",
                low=money_text(low * self.step),
                high=money_text(high * self.step),
            ),
            **options,
        )

    @override
    def read(self, text: str) -> int | None:
        hundredths = _hundredths(text)
        if hundredths is None or hundredths % self.step:
            return None
        value = hundredths // self.step
        return value if self.low <= value <= self.high else None


class DayField(SyntaxField):
    """A day as a `date` input sends it."""

    rule = gettext_noop("a day like 2026-11-21")

    @override
    def read(self, text: str) -> date | None:
        try:
            return date.fromisoformat(text) if DAY.fullmatch(text) else None
        except ValueError:
            return None


class MomentField(SyntaxField):
    """A time as a `datetime-local` input sends it; by the stores' clock if it has no UTC offset.

    The value is in UTC. A time that the clock skips in spring is refused. A time that the clock
    shows twice in autumn is read as the first of the two.
    """

    rule = gettext_noop("a date and a time by the clock of the stores")

    @override
    def read(self, text: str) -> datetime | None:
        if not DAY.match(text):
            return None
        try:
            at = datetime.fromisoformat(text)
            if at.tzinfo:
                return at.astimezone(UTC)
            zone = store_zone()
            utc = at.replace(tzinfo=zone).astimezone(UTC)
            return utc if utc.astimezone(zone).replace(tzinfo=None, fold=0) == at else None
        # The conversion to UTC overflows for the first and the last day of the calendar.
        except (ValueError, OverflowError):
            return None


class HiddenField(SyntaxField):
    """Base of fields that the page itself fills in. A wrong value means an outdated page."""

    widget = forms.HiddenInput
    rule = gettext_noop("this page is out of date: reload it")


class IdField(HiddenField):
    """The id of a row, or another number that isn't negative."""

    @override
    def read(self, text: str) -> int | None:
        return int(text) if is_digits(text) else None


class SignedNumberField(HiddenField):
    """A number that may be negative, like a revision or a difference."""

    @override
    def read(self, text: str) -> int | None:
        digits = text.removeprefix("-")
        if not is_digits(digits):
            return None
        return -int(digits) if text[0] == "-" else int(digits)


class UuidField(HiddenField):
    """A UUID, like the command id that was generated when the form was rendered."""

    @override
    def read(self, text: str) -> UUID | None:
        try:
            return UUID(text)
        except ValueError:
            return None


class ShownField(HiddenField):
    """The values that the page showed, as a JSON object with exactly the keys `names`."""

    def __init__(self, names: Collection[str] = (), **options: Unpack[Options]) -> None:
        self.names = names
        super().__init__(**options)

    @override
    def read(self, text: str) -> dict[str, Any] | None:
        try:
            shown = json.loads(text)
        except (ValueError, RecursionError):
            return None
        return shown if isinstance(shown, dict) and set(shown) == set(self.names) else None
