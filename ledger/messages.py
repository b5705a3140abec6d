"""Texts for people that pages can translate.

A service doesn't know the language of the person who reads its refusal. It composes a `Message`: a
plain English text that also keeps its message id and its values. Programs, logs and the API use the
text as it is. Pages translate it with `translated`. A text with a number is a `Counted`, so that
each language can use its own plural forms.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol, Self, cast

from typing_extensions import override


class Translate(Protocol):
    """A function that returns the translation of a message id."""

    def __call__(self, one: str, many: str = "", number: int = 1, /) -> str:
        """Return the translation of `one`, or with `many` the plural form for `number`."""
        ...


_LEADING_VALUE: Final = re.compile(r"%\((\w+)\)s")


class Message(str):
    """An English text with its message id and its values by name.

    `Message("at most %(most)s lines", most=20)` equals "at most 20 lines". Give each value as pages
    show it: a number as a formatted text, or another `Message`, which is translated as well.
    """

    __slots__ = ("template", "values")

    template: str
    values: dict[str, object]

    def __new__(cls, template: str, /, **values: object) -> Self:
        """Compose the English text; raise `KeyError` if a value of the template is missing."""
        composed = super().__new__(cls, template % values)
        composed.template = template
        composed.values = values
        return composed

    def __getnewargs_ex__(self) -> tuple[tuple[object, ...], dict[str, object]]:
        """Return the constructor's arguments, with which `copy` and `pickle` make an equal text."""
        return (self.template,), self.values

    def translated_template(self, translate: Translate) -> str:
        """Return the template in another language."""
        return translate(self.template)

    def with_values(self, change: Callable[[str, object], object]) -> Self:
        """Return this text with each value replaced by `change(name, value)`.

        If a value is a `Message` itself, `change` is called for the values inside of it instead.
        """
        given, _ = self.__getnewargs_ex__()
        values = {
            name: value.with_values(change) if isinstance(value, Message) else change(name, value)
            for name, value in self.values.items()
        }
        return type(self)(*cast("tuple[Any, ...]", given), **values)


class Counted(Message):
    """A text with a number: it has a message id for 1 and another one for all other numbers.

    `Counted("%(number)s line", "%(number)s lines", 1, number="1")` equals "1 line". The sign of the
    number doesn't matter. `ledger.nouns.counted` returns a number with its noun.
    """

    __slots__ = ("many", "number", "one")

    one: str
    many: str
    number: int

    def __new__(cls, one: str, many: str, number: int, /, **values: object) -> Self:
        """Compose the English text; raise `KeyError` if a value of the template is missing."""
        composed = super().__new__(cls, one if abs(number) == 1 else many, **values)
        composed.one = one
        composed.many = many
        composed.number = abs(number)
        return composed

    @override
    def __getnewargs_ex__(self) -> tuple[tuple[object, ...], dict[str, object]]:
        return (self.one, self.many, self.number), self.values

    @override
    def translated_template(self, translate: Translate) -> str:
        return translate(self.one, self.many, self.number)


def as_message(text: str) -> Message:
    """Return a text as a `Message`.

    Use this for a value of another `Message`: `translated` translates the values that are messages,
    and leaves plain texts in English.
    """
    return text if isinstance(text, Message) else Message(text.replace("%", "%%"))


def joined(texts: Iterable[str], separator: str = ", ") -> Message:
    """Return one text: the given texts with a separator between them.

    `translated` translates each of the given texts separately.
    """
    named = {f"text{number}": text for number, text in enumerate(texts)}
    return Message(separator.join(f"%({name})s" for name in named), **named)


def gettext_noop(text: str) -> str:
    """Mark a message id for the translators and return it unchanged; pages translate it later.

    Unlike Django's function of this name, it also works in programs that don't load the settings.
    """
    return text


def untranslated(one: str, many: str = "", number: int = 1) -> str:
    """Return the English singular or plural. Programs, logs and the API use it as `Translate`."""
    return many if many and number != 1 else one


def translated(text: str, translate: Translate) -> str:
    """Return a text in another language.

    A text without a translation, such as the name of an item, stays as it is.
    """
    if isinstance(text, Message):
        values = {name: _shown(value, translate) for name, value in text.values.items()}
        return text.translated_template(translate) % values
    return translate(text) if text else text


def sentence(text: str, translate: Translate) -> str:
    """Return a text in another language, as the beginning of a sentence.

    The first letter becomes a capital letter, unless it belongs to a value: a user name or a code
    keeps its case. `the item is ranged here already` begins with `The`, and `ann` stays `ann`.
    """
    shown = translated(text, translate)
    return shown if _begins_with_value(text, translate) else f"{shown[:1].upper()}{shown[1:]}"


def _begins_with_value(text: str, translate: Translate) -> bool:
    """Return True if the translated text begins with a value that is not a `Message` itself."""
    if not isinstance(text, Message):
        return False
    found = _LEADING_VALUE.match(text.translated_template(translate))
    if found is None:
        return False
    value = text.values[found[1]]
    return not isinstance(value, Message) or _begins_with_value(value, translate)


def _shown(value: object, translate: Translate) -> object:
    return translated(value, translate) if isinstance(value, Message) else value
