"""How tests are shared out to the processes of one run (pytest-xdist)."""

from pathlib import PurePosixPath
from typing import Final

from xdist.scheduler import LoadScopeScheduling

# Files of tests/stack whose tests start services of their own.
APART: Final = frozenset({"test_foreground", "test_lost_topics", "test_revision_deployed"})


class OneStack(LoadScopeScheduling):
    """A file goes to one process; all files whose tests share the stack go to the same one.

    Marks of groups would say it at each test, but pytest-xdist 3.8 writes them to a field that
    pytest 9.2 no longer reads.
    """

    def _split_scope(self, nodeid: str) -> str:
        path = PurePosixPath(nodeid.partition("::")[0])
        is_shared = path.is_relative_to("tests/stack") and path.stem not in APART
        return "stack" if is_shared else str(path)
