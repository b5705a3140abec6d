"""Topic names: the first revision keeps its known names, and no two revisions share one."""

from dataclasses import astuple

from cdc.contracts import topics
from cdc.settings import Connections


def test_topics_of_the_first_revision_have_the_published_names() -> None:
    assert topics.output_topics(1) == topics.OutputTopics(
        on_hand_changelog="inventory-v1-on_hand-changelog",
        sales_windows_changelog="inventory-v1-sales_windows-changelog",
        reorder_events="reorder.events",
        price_events="price.events",
        stock_late="stock.late",
        stock_rejected="stock.rejected",
    )


def test_no_two_revisions_write_into_one_topic() -> None:
    names = [name for revision in (1, 2, 3) for name in astuple(topics.output_topics(revision))]

    assert len(set(names)) == len(names)
    assert all("inventory-v3-" in name for name in astuple(topics.output_topics(3)))


def test_every_revision_has_the_same_settings() -> None:
    for first, later in zip(topics.topics_of(1), topics.topics_of(2), strict=True):
        assert (first.partitions, first.config) == (later.partitions, later.config)


def test_the_worker_directory_is_named_after_the_application_id() -> None:
    assert Connections().worker_dir.name == topics.APP_ID
