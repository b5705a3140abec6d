"""A logic change: the source tree with its rules, and the reasons why it can't be published."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analytics.backfill.change.examples import gives_recorded_results
from analytics.backfill.change.fingerprint import same_number_other_rules
from analytics.backfill.change.parameters import text_of
from analytics.backfill.change.trees import (
    NoSourceTree,
    revision_of,
    write_commit_tree,
    write_overlay_tree,
)
from analytics.backfill.plan import Rules
from analytics.engines.code import ROOT, hash_of, uncommitted
from inventory.parameters.overlay import Overlay

_LINE: Final = (
    "from inventory.revision import CHANGES, LOGIC_REVISION; print(CHANGES.get(LOGIC_REVISION, ''))"
)
_NAMED: Final = 3  # number of files listed in a message about uncommitted files


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of a run's rules: a directory (`code`), a commit (`ref`), or the running code.

    `overlay` has policy parameters to set in a copy of these sources. `revision` is the logic
    revision of that copy; None means the next free number.
    """

    code: Path | None = None
    ref: str = ""
    overlay: Overlay = ()
    revision: int | None = None

    @property
    def is_own(self) -> bool:
        """Return True if the rules are those of the running code, without changed parameters."""
        return self == Origin()


@dataclass(frozen=True, slots=True)
class Change:
    """The rules of the source tree `tree`.

    `text` describes in one line what these rules change. `own` is the tree of the running code.
    """

    tree: Path
    rules: Rules
    text: str
    overlay: Overlay = ()
    own: Path = ROOT

    @property
    def is_own(self) -> bool:
        """Return True if these are the rules of the running code."""
        return self.tree == self.own

    def unnumbered(self) -> str:
        """Return a message if the rules changed and kept their revision number, else ""."""
        if self.is_own:
            is_changed = not gives_recorded_results()
        else:
            is_changed = same_number_other_rules(self.tree, self.own)
        if not is_changed:
            return ""
        return (
            f"{self.tree} changes rules and keeps logic revision {self.rules.revision}: raise "
            "LOGIC_REVISION in inventory/revision.py, and state the change in CHANGES there"
        )

    def problems(self) -> Iterator[str]:
        """Yield each reason why a run of these rules can't be published."""
        number = self.rules.revision
        if problem := self.unnumbered():
            yield problem
        elif self.is_own:
            yield f"this stack's own workers run logic revision {number} already"
        elif number == revision_of(self.own):
            yield f"{self.tree} has the rules and the logic revision {number} of this stack"
        if names := uncommitted(self.tree):
            more = ", …" if len(names) > _NAMED else ""
            yield f"rules have uncommitted changes: {', '.join(names[:_NAMED])}{more}"


def change_of(origin: Origin, trees: Path) -> Change:
    """Return the change that `origin` names.

    A commit, or changed parameters, get a source tree of their own below `trees`. Write this tree
    if it is missing.

    Raises:
        NoSourceTree: the tree or the commit can't be used.
    """
    if origin.code is not None and origin.ref:
        problem = f"--code {origin.code} and --ref {origin.ref}: expected one of them"
        raise NoSourceTree(problem, "nothing was computed", "give one of the two options")
    tree = ROOT if origin.code is None else origin.code.resolve()
    if origin.ref:
        tree = write_commit_tree(trees, origin.ref)
    if origin.overlay:
        tree = write_overlay_tree(trees, origin.overlay, base=tree, revision=origin.revision)
    text = "; ".join(map(text_of, origin.overlay)) or _change_line(tree)
    return Change(tree, Rules(revision_of(tree), hash_of(tree)), text, origin.overlay)


def _change_line(tree: Path) -> str:
    """Return the text in CHANGES (`inventory/revision.py`) for the tree's revision, or ""."""
    command = [sys.executable, "-c", _LINE]
    # Bytecode in the tree would count as an uncommitted change if git doesn't ignore it.
    env = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, check=False)  # noqa: S603 -- a tree that the analyst has named
    return done.stdout.strip() if done.returncode == 0 else ""
