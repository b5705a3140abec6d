from webui.live.hub import LAG_US, REMEMBERED_KEYS, Hub
from webui.live.patches import Patch


def rendered(content: bytes) -> Patch:
    return {"text": content.decode()}


def test_a_subscriber_gets_the_latest_value_of_its_keys_and_nothing_else() -> None:
    hub = Hub(rendered)
    page = hub.subscribe(["L|A", "L|B"])

    hub.publish("L|A", b"1")
    hub.publish("L|A", b"2")
    hub.publish("L|C", b"9")

    assert page.changed.is_set()
    assert page.take() == {"L|A": {"text": "2"}}
    assert not page.changed.is_set()
    assert page.take() == {}


def test_a_new_subscriber_gets_the_latest_value_published_before() -> None:
    hub = Hub(rendered)
    hub.publish("L|A", b"1")

    page = hub.subscribe(["L|A"])

    assert page.changed.is_set()
    assert page.take() == {"L|A": {"text": "1"}}


def test_a_change_is_rendered_once_for_all_subscribers() -> None:
    calls: list[bytes] = []

    def counting(content: bytes) -> Patch:
        calls.append(content)
        return rendered(content)

    hub = Hub(counting)
    pages = [hub.subscribe(["L|A"]) for _ in range(3)]

    hub.publish("L|A", b"1")
    hub.publish("L|B", b"1")

    assert calls == [b"1"]
    assert all(page.take() == {"L|A": {"text": "1"}} for page in pages)


def test_an_unsubscribed_page_gets_no_change_and_is_removed() -> None:
    hub = Hub(rendered)
    page = hub.subscribe(["L|A"])

    hub.unsubscribe(page)
    hub.publish("L|A", b"1")

    assert page.take() == {}
    assert hub.streams == 0


def test_the_hub_remembers_a_limited_number_of_keys_and_drops_the_oldest() -> None:
    hub = Hub(rendered)
    hub.publish("L|first", b"1")
    for number in range(REMEMBERED_KEYS):
        hub.publish(f"L|{number}", b"1")

    assert hub.subscribe(["L|first"]).take() == {}
    assert hub.subscribe(["L|0"]).take() == {"L|0": {"text": "1"}}


def test_the_age_of_a_page_is_that_of_its_oldest_partition() -> None:
    hub = Hub(rendered)
    hub.advance_as_of(0, 500)
    hub.advance_as_of(1, 900)
    hub.advance_as_of(1, 700)
    hub.note_read_model({0: 500, 1: 900})

    assert hub.as_of_us([0, 1]) == 500
    assert hub.as_of_us([1]) == 900
    assert hub.as_of_us([1, 2]) is None
    assert hub.as_of_us() == 500


def test_the_age_of_a_page_includes_the_read_model_once_the_projector_lags() -> None:
    hub = Hub(rendered)
    hub.advance_as_of(0, 10 * LAG_US)
    hub.advance_as_of(1, 10 * LAG_US)

    hub.note_read_model({0: 9 * LAG_US, 1: 9 * LAG_US - 1})

    assert hub.as_of_us([0]) == 10 * LAG_US
    assert hub.as_of_us([0, 1]) == 9 * LAG_US - 1
    assert hub.feed_as_of_us() == 10 * LAG_US


def test_a_page_has_no_age_while_that_of_the_read_model_is_unknown() -> None:
    hub = Hub(rendered)
    hub.advance_as_of(0, 500)

    assert hub.as_of_us([0]) is None
    assert hub.as_of_us() is None
    assert hub.feed_as_of_us() == 500
