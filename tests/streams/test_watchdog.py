"""The watchdog detects workers that look healthy but make no progress."""

from streams.engine.watchdog import Watchdog


def watchdog() -> Watchdog:
    return Watchdog(stall_s=30, restore_stall_s=60)


def look(dog: Watchdog, now_s: float, offset: int, end: int) -> str | None:
    return dog.problem(now_s, {3: offset}, {3: end - offset}, restoring_since_s=None)


def test_the_watchdog_reports_records_that_wait_beyond_the_limit() -> None:
    dog = watchdog()

    assert [look(dog, now_s, 10, 20) for now_s in (0, 15, 30)] == [None] * 3
    problem = look(dog, 31, 10, 20)

    assert problem is not None
    assert "[3]" in problem


def test_the_watchdog_ignores_partitions_that_progress_or_have_no_records() -> None:
    dog = watchdog()

    assert look(dog, 0, 10, 20) is None
    assert look(dog, 31, 11, 20) is None
    assert look(dog, 62, 20, 20) is None
    assert look(dog, 1_000, 20, 20) is None
    assert look(dog, 1_001, 20, 21) is None
    assert look(dog, 1_030, 20, 21) is None


def test_the_watchdog_tolerates_one_stalled_partition_only_for_a_limited_time() -> None:
    dog = watchdog()

    def look_at_both(now_s: float, busy: int) -> str | None:
        return dog.problem(now_s, {3: 0, 4: busy}, {3: 5, 4: 5}, restoring_since_s=None)

    answers = [look_at_both(now_s, now_s) for now_s in range(0, 121, 10)]
    problem = look_at_both(130, 130)

    assert answers == [None] * 13
    assert problem is not None
    assert problem.startswith("partition 3: 5 records wait")


def test_the_watchdog_does_not_count_time_in_which_the_process_was_suspended() -> None:
    """Time in which the process was suspended isn't time without progress."""
    dog = watchdog()

    assert [look(dog, now_s, 10, 20) for now_s in (0, 5, 65, 70, 80, 90)] == [None] * 6
    assert look(dog, 96, 10, 20) is not None


def test_the_watchdog_restarts_its_timer_for_a_reassigned_partition() -> None:
    dog = watchdog()

    assert look(dog, 0, 10, 20) is None
    assert dog.problem(20, {}, {}, restoring_since_s=None) is None
    assert look(dog, 40, 10, 20) is None


def test_the_watchdog_reports_a_restore_without_progress() -> None:
    dog = watchdog()

    assert dog.problem(100, {}, {}, restoring_since_s=41) is None
    assert dog.problem(102, {}, {}, restoring_since_s=41) is not None
