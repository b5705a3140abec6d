"""The last step of a publication, as far as no broker has to be asked."""

from deploy.revisions.publish import commit


def test_where_nothing_was_published_the_group_is_given_nothing() -> None:
    said: list[str] = []

    commit("127.0.0.1:1", {0: 0, 1: 0}, said.append)

    assert said == []
