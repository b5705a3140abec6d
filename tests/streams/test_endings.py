"""Each reason for which a worker ends has an exit code of its own, and words."""

import json

import pytest
from aiokafka.errors import KafkaConnectionError, OffsetOutOfRangeError
from confluent_kafka import KafkaException

from cdc.contracts.versions import UnreadableRecord
from inventory.errors import BrokenInvariant
from streams.endings import MEANINGS, Ending, meaning_of
from streams.engine.kafka_log import ReadStalled
from streams.engine.loop import SchemaBreak
from streams.engine.records import Fenced
from streams.engine.restore import LogMismatch
from streams.engine.transactions import _refuse_begun_again
from streams.worker import origins, runtime


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UnreadableRecord("version 9"), 65),
        (LogMismatch("cut off"), 66),
        (OffsetOutOfRangeError(), 66),
        (KafkaConnectionError(), 69),
        (KafkaException("gone"), 69),
        (ReadStalled("nothing"), 69),
        (BrokenInvariant("ring"), 70),
        (Fenced("another owner"), 75),
        (SchemaBreak("garbage"), 76),
        (runtime.Stuck("nothing moves"), 124),
        (RuntimeError("what is this"), 1),
        (None, 1),
    ],
)
def test_an_error_ends_a_worker_with_the_code_of_its_kind(
    error: BaseException | None, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes: list[int] = []

    class Ended(BaseException):
        pass

    def end(given: int) -> None:
        codes.append(given)
        raise Ended

    monkeypatch.setattr("os._exit", end)
    with pytest.raises(Ended):
        runtime.die("the end", error)

    assert codes == [code]


def test_every_code_has_words_and_signals_have_theirs() -> None:
    assert set(MEANINGS) == set(Ending)
    assert meaning_of(66) == "a topic was deleted, made anew or cut off"
    assert meaning_of(-9) == "signal 9"
    assert meaning_of(33) == "exit code 33"


def test_nothing_is_committed_into_a_topic_that_begins_again() -> None:
    known = {"levels": 40, "windows": 7}

    _refuse_begun_again(3, known, {"levels": 42, "windows": 9, "reorder.events": 1})

    with pytest.raises(LogMismatch, match=r"levels\[3\] held offsets up to 40 and now ends at 2"):
        _refuse_begun_again(3, known, {"levels": 2})


@pytest.mark.parametrize("content", [None, "", "[1, 2]", "{"])
def test_a_file_of_topic_ids_that_says_nothing_is_like_none(content: str | None, tmp_path) -> None:
    known = tmp_path / "topics.json"
    if content is not None:
        known.write_text(content, encoding="utf-8")

    assert origins._read(known) == {}
    known.write_text(json.dumps({"stock.events": "abc"}), encoding="utf-8")
    assert origins._read(known) == {"stock.events": "abc"}


@pytest.mark.parametrize("bounds", [(5, 9), (0, 3)])
def test_a_source_topic_without_the_place_to_go_on_ends_the_worker(
    bounds: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[BaseException] = []
    monkeypatch.setattr(runtime, "die", lambda _event, error: ended.append(error))

    runtime._refuse_other_log(2, 4, *bounds)

    assert [type(error) for error in ended] == [LogMismatch]
    assert "goes on at 4" in str(ended[0])


def test_a_source_topic_that_reaches_the_place_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "die", lambda *_: pytest.fail("it is"))

    runtime._refuse_other_log(2, 4, 0, 4)
