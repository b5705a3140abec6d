"""Requests of the page History, and for each request the `inventory` command that executes it.

The page records a request in Postgres (`app.history_request`). The process `prover` executes it
as the documented command (decision 0049). Page and process both call `command_of`, so the command
that the page shows is the one that runs. The arguments of a request map names to texts.
"""

import re
from collections.abc import Mapping
from typing import Final

from cdc.contracts import policy_parameters
from inventory.model.value import value

RUN: Final = "run"
COMPARE: Final = "compare"
EXPLAIN: Final = "explain"
REVIEW: Final = "review"
PUBLISH: Final = "publish"
SHADOW: Final = "shadow"
CUTOVER: Final = "cutover"
ROLLBACK: Final = "rollback"
PROVE: Final = "prove"
QUESTION: Final = "question"
QUERY: Final = "query"

# This text in place of a run's name means the decisions that the workers have published.
LIVE: Final = "live"

# Requests of these kinds run only after an operator has confirmed them. The person who made the
# request can't confirm it.
CONFIRMED: Final = frozenset({PUBLISH, SHADOW, CUTOVER, ROLLBACK})
LONGEST_STATEMENT: Final = 20_000  # characters
LONGEST_TEXT: Final = 200  # characters

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,4}")
_DIGEST: Final = re.compile(r"[0-9a-f]{8,64}")
_PAIRS: Final = re.compile(r"[a-z_]+=[^,=\s]+(,[a-z_]+=[^,=\s]+)*")
_KEY: Final = re.compile(r"[^|\s][^|]*\|[^|]+")
_ANY: Final = re.compile(r"\S.*", re.DOTALL)
_ENGINE: Final = re.compile(r"local|spark")
_YES: Final = re.compile(r"yes")


@value
class Rule:
    """The pattern and largest length of an argument. `words` describe the pattern to people."""

    pattern: re.Pattern[str]
    words: str
    longest: int = LONGEST_TEXT


_RUN_NAME: Final = Rule(_NAME, "the name of a run, last, or the number of a logic revision")
RULES: Final[Mapping[str, Rule]] = {
    "a": _RUN_NAME,
    "b": _RUN_NAME,
    "run": _RUN_NAME,
    "until": _RUN_NAME,
    "name": Rule(_NAME, "the name of a prepared question, like suppliers"),
    "revision": Rule(_NUMBER, "the number of a logic revision"),
    "approval": Rule(_DIGEST, "8 or more characters of the digest of an approved difference"),
    "set": Rule(_PAIRS, "a policy column with its value, like lead_time_centidays=100"),
    "where": Rule(_PAIRS, "columns with their values, like family=sS,location=BERLIN-1"),
    "store": Rule(_NAME, "the code of a store"),
    "key": Rule(_KEY, "a store and a SKU, like BERLIN-1|TEA"),
    "engine": Rule(_ENGINE, "local or spark"),
    "full": Rule(_YES, "yes, or empty"),
    "statement": Rule(_ANY, "one SELECT, up to 20,000 characters", LONGEST_STATEMENT),
}


@value
class Form:
    """The form of one command: its words, such as `backfill run`, and the names of its arguments.

    `positions` are positional arguments. `required` and `options` are written as `--name=value`,
    `switches` as `--name`. A request must have all arguments in `positions` and `required`.
    """

    words: tuple[str, ...]
    positions: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()

    def names(self) -> tuple[str, ...]:
        """Return the names of all arguments."""
        return (*self.positions, *self.required, *self.options, *self.switches)


FORMS: Final[Mapping[str, Form]] = {
    RUN: Form(("backfill", "run"), options=("until", "set", "where", "store", "engine")),
    COMPARE: Form(("backfill", "diff"), ("a", "b")),
    EXPLAIN: Form(("backfill", "diff"), ("a", "b"), required=("key",)),
    REVIEW: Form(("backfill", "review"), ("a", "b")),
    PUBLISH: Form(("backfill", "publish"), ("run",)),
    SHADOW: Form(("backfill", "shadow"), ("revision",), required=("approval",)),
    CUTOVER: Form(("backfill", "cutover"), ("revision",), required=("approval",)),
    ROLLBACK: Form(("backfill", "rollback")),
    PROVE: Form(("backfill", "prove"), switches=("full",)),
    QUESTION: Form(("sql",), options=("run",), required=("name",)),
    QUERY: Form(("sql", "--history"), ("statement",), options=("run",)),
}
_FLAGS: Final[Mapping[str, str]] = {"name": "--question"}


def first_problem(kind: str, arguments: Mapping[str, str]) -> tuple[str, str] | None:
    """Return (name, rule in words) of the first wrong or missing argument, or None."""
    form = FORMS[kind]
    needed = {*form.positions, *form.required}
    for name in form.names():
        rule, text = RULES[name], arguments.get(name, "")
        if not text and name not in needed:
            continue
        if len(text) > rule.longest or "\0" in text or not rule.pattern.fullmatch(text):
            return name, rule.words
        if text and (problem := _parameter_problem(name, text)):
            return name, problem
    return None


def _parameter_problem(name: str, text: str) -> str:
    """Return the rule that `text` breaks as value of `set` or `where`, or an empty text.

    Other arguments are not checked.
    """
    if name not in ("set", "where"):
        return ""
    try:
        changes, where = ([text], []) if name == "set" else ([], [text])
        policy_parameters.rule_of(changes, where)
    except policy_parameters.WrongParameter as error:
        return error.reason
    return ""


def given_arguments(kind: str, arguments: Mapping[str, str]) -> dict[str, str]:
    """Return the arguments that `kind` takes and that are not empty, in the order of its form."""
    names = FORMS[kind].names()
    return {name: text for name in names if (text := arguments.get(name, ""))}


def command_of(
    kind: str, arguments: Mapping[str, str], extra: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return the command line without the first word `inventory`, word by word.

    An option and its value are one word, like `--run=last`. The options `extra` come after all
    other options. Positional arguments follow `--`. So the command-line parser can't take a value
    for an option.
    """
    form = FORMS[kind]
    options = (
        f"{_FLAGS.get(name, f'--{name}')}={arguments[name]}"
        for name in (*form.required, *form.options)
        if arguments.get(name)
    )
    switches = (f"--{name}" for name in form.switches if arguments.get(name))
    positions = tuple(arguments[name] for name in form.positions)
    return (*form.words, *options, *switches, *extra, *(("--", *positions) if positions else ()))
