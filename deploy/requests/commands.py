"""The command line of a request: the documented command with `--json` and further options.

If a run used other rules than this code, the command needs their source tree in `--code`. A request
contains no paths. So this module searches `backfill/trees` in the home for the source tree: the
hash of its rules must be the one in the run's plan.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from analytics.backfill.plan import directories_of, load
from analytics.backfill.run import runs_dir
from analytics.engines.code import code_hash, hash_of
from cdc.contracts.history_requests import (
    COMPARE,
    EXPLAIN,
    LIVE,
    PUBLISH,
    REVIEW,
    SHADOW,
    command_of,
)
from cdc.settings import Connections

MOST_ROWS: Final = 10_000  # rows of each kind in a result; `backfill diff --out` writes all
ROUNDS: Final = 3
_CLI: Final = (sys.executable, "-m", "deploy.cli.main")
_GROUPED: Final = ("--by=store", "--by=supplier", "--by=reason", "--by=week")
_RUNS: Final = {EXPLAIN: ("a", "b"), PUBLISH: ("run",), SHADOW: ("revision",)}


def command_line(
    settings: Connections, kind: str, arguments: Mapping[str, str], actor: str
) -> tuple[str, ...]:
    """Return the command line that executes a request of `actor`.

    Raises:
        Damage: a run that the arguments name doesn't exist.
    """
    if kind == REVIEW:
        # The person has logged in to the pages already. `backfill review` would ask for a password.
        module = (sys.executable, "-m", "deploy.requests.review")
        return (*module, arguments["a"], arguments["b"], actor)
    return (*_CLI, *command_of(kind, arguments, (*_extra(settings, kind, arguments, actor),)))


def _extra(
    settings: Connections, kind: str, arguments: Mapping[str, str], actor: str
) -> Iterator[str]:
    if kind == COMPARE:
        yield from (*_GROUPED, f"--limit={MOST_ROWS}")
    if kind == SHADOW:
        yield f"--rounds={ROUNDS}"
    if kind in ("cutover", "rollback"):
        yield f"--by={actor}"
    for name in _RUNS.get(kind, ()):
        yield from _tree_option(settings, arguments[name])
    yield "--json"


def _tree_option(settings: Connections, run: str) -> Iterator[str]:
    """Yield `--code=TREE` if the run used other rules than this code.

    Yield nothing if `run` is `live`, or if `trees_of` finds no source tree with these rules.
    """
    if run == LIVE:
        return
    code = load(directories_of(runs_dir(settings), run)[0]).code
    if code != code_hash():
        yield from (f"--code={tree}" for tree in trees_of(settings, code)[:1])


def trees_of(settings: Connections, code: str) -> list[Path]:
    """Return those source trees in `backfill/trees` whose rules have the hash `code`."""
    trees = (settings.home / "backfill" / "trees").glob("*/analytics/backfill")
    return [tree.parents[1] for tree in trees if hash_of(tree.parents[1]) == code]
