"""The connector writes the messages that the golden files hold."""

import json

from tests.golden import recorder
from tests.stack.running import RunningStack


def shape(value: str) -> dict[str, object]:
    envelope = json.loads(value)
    images = {side: envelope[side] and sorted(envelope[side]) for side in ("before", "after")}
    return images | {"op": envelope["op"], "source": sorted(envelope["source"])}


def test_each_connector_message_has_key_partition_and_fields_of_its_golden_file(
    stack: RunningStack,
) -> None:
    recorded, kept = recorder.record(stack.settings), recorder.kept()

    assert recorded.keys() == kept.keys()
    for name, now in recorded.items():
        then = kept[name]
        assert (now.topic, now.partition, now.key) == (then.topic, then.partition, then.key), name
        assert shape(now.value) == shape(then.value), name
