"""Distribution of the test files among the processes of one run (pytest-xdist)."""

from pathlib import PurePosixPath
from typing import Final

from typing_extensions import override
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

STACK: Final = "stack"
# Files of tests/stack whose tests start services of their own.
APART: Final = frozenset(
    {
        *("test_demo", "test_existing_postgres", "test_foreground"),
        *("test_lost_topics", "test_revision_deployed"),
    }
)
# Approximate seconds of files in `make soak` that have few but long tests. Ordered by the number of
# tests, such a file would start last, and the other processes would wait for it.
SECONDS: Final = {
    STACK: 5_200,
    "test_terms_add_up": 60,
    "test_defects": 150,
    "test_kills": 850,
    "test_api_schema": 240,
    "test_standalone_cluster": 100,
    "test_laws_of_decisions": 150,
    "test_lost_topics": 150,
    "test_histories": 310,
    "test_laws_of_facts": 110,
    "test_columns_agree": 60,
    "test_every_crash": 60,
    "test_revision_deployed": 60,
    "test_demo": 90,
    "test_existing_postgres": 50,
    "test_pages": 60,
    "test_engines": 50,
    "test_places": 30,
    "test_schemas": 30,
    "test_policy": 25,
    "test_disturbed_runs": 20,
    "test_full_disk": 20,
    "test_lost_jvm": 15,
    "test_explained_demo": 10,
}
SECONDS_OF_A_TEST: Final = 0.2


class OneStack(LoadScopeScheduling):
    """Scheduler that gives each file to one process, and all files of the shared stack to one.

    The longest files go first. A long file at the end would run alone, with the other processes
    idle. Marks `xdist_group` at the tests are no alternative: pytest-xdist 3.8 writes the groups to
    a field that pytest 9.2 no longer reads.
    """

    @override
    def _split_scope(self, nodeid: str) -> str:
        path = PurePosixPath(nodeid.partition("::")[0])
        is_shared = path.is_relative_to("tests/stack") and path.stem not in APART
        return STACK if is_shared else str(path)

    @override
    def _assign_work_unit(self, node: WorkerController) -> None:
        self.workqueue.move_to_end(max(self.workqueue, key=self._seconds), last=False)
        super()._assign_work_unit(node)

    def _seconds(self, scope: str) -> float:
        known = SECONDS.get(PurePosixPath(scope).stem, 0)
        return known or SECONDS_OF_A_TEST * len(self.workqueue[scope])
