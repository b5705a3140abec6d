"""Texts in which the simulator describes the steps and faults of a history."""

from bench.simulation.history import Step
from bench.simulation.source import SentRecord, sent_records


def test_a_simulated_step_has_a_readable_text() -> None:
    sent: tuple[SentRecord, ...] = sent_records(
        [Step(0, "resend", 0, refers=4), Step(1, "delete", 0, refers=4)]
    )

    assert sent == ()
    assert str(Step(0, "sale", 1, 1, 3, gap_us=0, skew_ms=-500)) == (
        "sale [1] S1|B 3 after 0 s Connect's clock -0.5 s"
    )
