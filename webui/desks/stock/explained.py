"""The explanation of a key on the item page: the lines of `inventory explain`, in their order."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext

from cdc.contracts.state import decode_level
from cdc.contracts.times import time_text
from cdc.workers import LiveKey
from inventory.explain import formatting
from inventory.explain.key import Provenance, explain
from inventory.explain.lines import ADD, SUM, Line, Section, Source, gaps, with_actors
from inventory.model.state import KeyState
from webui.readmodel import explain as selectors


@dataclass(frozen=True, slots=True)
class ShownLine:
    """One line as text. Lines with `is_step` add up to the next line with `is_sum`."""

    label: str
    text: str
    about: str
    is_sum: bool
    is_step: bool


@dataclass(frozen=True, slots=True)
class ShownSection:
    """A heading with its lines."""

    name: str
    title: str
    lines: tuple[ShownLine, ...]


@dataclass(frozen=True, slots=True)
class Explained:
    """All sections of the explanation, and the source of the explained state.

    `came_from` is "worker" or "read model" in the page's language. `gaps` names sums that don't
    add up. It is empty unless the rules have a defect.
    """

    sections: tuple[ShownSection, ...]
    came_from: str
    gaps: tuple[str, ...]


def explained(level: selectors.Item, live: LiveKey) -> Explained:
    """Return the explanation of a key, computed from the state that `state_of` returns.

    `level` is the key's row of the read model, and `live` the answer of the worker.
    """
    state, as_of_us, came_from = state_of(level, live)
    has_windows = live.state is not None
    found = {
        (source.table, source.id): source
        for source in selectors.authors(level.inv_key, state.episode.id)
    }
    came = Provenance(
        partition=level.partition,
        logic_revision=level.logic_revision,
        as_of_us=as_of_us,
        policy=_first(found.values(), "item_location"),
        decision=_first(found.values(), "reorder_decision"),
    )
    facts = selectors.stock_facts(level.inv_key)
    sections = explain(state, facts, came, has_windows=has_windows)
    named = with_actors(sections, {place: source.actor for place, source in found.items()})
    return Explained(tuple(map(_shown, named)), came_from, gaps(named))


def state_of(level: selectors.Item, live: LiveKey) -> tuple[KeyState, int | None, str]:
    """Return (state, as-of time in µs since 1970 UTC, "worker" or "read model", translated).

    The state comes from the worker if it has answered, else from the read model.
    """
    if live.state is not None:
        return live.state, live.as_of_us, gettext("worker")
    state, _dropped = decode_level(level.state.encode())
    return state, level.as_of_us, gettext("read model")


def _first(sources: Iterable[Source], table: str) -> Source | None:
    return next((source for source in sources if source.table == table), None)


def _shown(section: Section) -> ShownSection:
    lines = tuple(map(_line, formatting.visible_lines(section)))
    return ShownSection(section.name, formatting.TITLES[section.name], lines)


def _line(line: Line) -> ShownLine:
    about = ", ".join(part for part in (line.detail, formatting.origin(line)) if part)
    text = formatting.text(line, time_text)
    return ShownLine(formatting.label(line), text, about, line.part == SUM, line.part == ADD)
