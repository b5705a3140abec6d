"""Nouns with a number, like `1 unit` and `3 items`, for messages of services and for pages."""

from typing import Final

from ledger.messages import Counted


def plural_noop(one: str, many: str) -> tuple[str, str]:
    """Mark two message ids for translators, the singular and the plural; return both."""
    return one, many


NOUNS: Final = {
    "cell": plural_noop("%(number)s cell", "%(number)s cells"),
    "character": plural_noop("%(number)s character", "%(number)s characters"),
    "code": plural_noop("%(number)s code", "%(number)s codes"),
    "column": plural_noop("%(number)s column", "%(number)s columns"),
    "day": plural_noop("%(number)s day", "%(number)s days"),
    "draft line": plural_noop("%(number)s draft line", "%(number)s draft lines"),
    "draft order": plural_noop("%(number)s draft order", "%(number)s draft orders"),
    "error": plural_noop("%(number)s error", "%(number)s errors"),
    "fact": plural_noop("%(number)s fact", "%(number)s facts"),
    "file": plural_noop("%(number)s file", "%(number)s files"),
    "hour": plural_noop("%(number)s hour", "%(number)s hours"),
    "item": plural_noop("%(number)s item", "%(number)s items"),
    "key": plural_noop("%(number)s key", "%(number)s keys"),
    "kind": plural_noop("%(number)s kind", "%(number)s kinds"),
    "late fact": plural_noop("%(number)s late fact", "%(number)s late facts"),
    "line": plural_noop("%(number)s line", "%(number)s lines"),
    "location": plural_noop("%(number)s location", "%(number)s locations"),
    "message": plural_noop("%(number)s message", "%(number)s messages"),
    "minute": plural_noop("%(number)s minute", "%(number)s minutes"),
    "more row": plural_noop("%(number)s more row", "%(number)s more rows"),
    "more store": plural_noop("%(number)s more store", "%(number)s more stores"),
    "need": plural_noop("%(number)s need", "%(number)s needs"),
    "open task": plural_noop("%(number)s open task", "%(number)s open tasks"),
    "order": plural_noop("%(number)s order", "%(number)s orders"),
    "partition": plural_noop("%(number)s partition", "%(number)s partitions"),
    "proposal": plural_noop("%(number)s proposal", "%(number)s proposals"),
    "purchase order": plural_noop("%(number)s purchase order", "%(number)s purchase orders"),
    "receipt": plural_noop("%(number)s receipt", "%(number)s receipts"),
    "record": plural_noop("%(number)s record", "%(number)s records"),
    "rejected record": plural_noop("%(number)s rejected record", "%(number)s rejected records"),
    "restore": plural_noop("%(number)s restore", "%(number)s restores"),
    "row": plural_noop("%(number)s row", "%(number)s rows"),
    "scorecard": plural_noop("%(number)s scorecard", "%(number)s scorecards"),
    "finished line": plural_noop("%(number)s finished line", "%(number)s finished lines"),
    "store": plural_noop("%(number)s store", "%(number)s stores"),
    "supplier": plural_noop("%(number)s supplier", "%(number)s suppliers"),
    "transfer": plural_noop("%(number)s transfer", "%(number)s transfers"),
    "unit": plural_noop("%(number)s unit", "%(number)s units"),
    "webhook": plural_noop("%(number)s webhook", "%(number)s webhooks"),
    "webhook message": plural_noop("%(number)s webhook message", "%(number)s webhook messages"),
    "window": plural_noop("%(number)s window", "%(number)s windows"),
}


def counted(number: int, noun: str, shown: str = "") -> Counted:
    """Return a number with a noun of `NOUNS`: `1 unit`, `1,200 units`.

    `shown` replaces the number's text: `+3` gives `+3 units`.
    """
    one, many = NOUNS[noun]
    return Counted(one, many, number, number=shown or f"{number:,}")
