"""Steps of a publication that need no broker."""

from contextlib import nullcontext
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException

from analytics.backfill.lock import RunInUse, only_run
from analytics.backfill.plan import Plan, save
from analytics.backfill.publish import Publishable
from analytics.backfill.run import runs_dir
from cdc.settings import Connections
from deploy.errors import StackError
from deploy.revisions import publish as publishing
from deploy.revisions import shadow
from deploy.revisions.members import retry_while_young
from deploy.revisions.publish import _only_publication, commit, publish
from deploy.stack.home import Home
from inventory.revision import LOGIC_REVISION


def test_commit_without_published_records_commits_no_offsets() -> None:
    said: list[str] = []

    commit("127.0.0.1:1", {0: 0, 1: 0}, said.append)

    assert said == []


def test_a_broker_that_has_just_started_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker answers no request about a group before it has loaded its groups."""
    monkeypatch.setattr("deploy.revisions.members._POLL_S", 0.0)
    young = [KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.NOT_COORDINATOR]

    def ask() -> str:
        if young:
            raise KafkaException(KafkaError(young.pop()))
        return "answer"

    assert retry_while_young(ask) == "answer"


@pytest.mark.parametrize(
    ("code", "patience_s"),
    [(KafkaError.NOT_COORDINATOR, -1.0), (KafkaError.GROUP_AUTHORIZATION_FAILED, 30.0)],
)
def test_broker_requests_are_not_retried_after_the_timeout_or_for_other_errors(
    monkeypatch: pytest.MonkeyPatch, code: int, patience_s: float
) -> None:
    monkeypatch.setattr("deploy.revisions.members._WAIT_S", patience_s)

    def ask() -> None:
        raise KafkaException(KafkaError(code))

    with pytest.raises(KafkaException):
        retry_while_young(ask)


def test_a_run_that_another_process_uses_is_not_published(tmp_path: Path) -> None:
    """Otherwise `discard` could move the run's files away before the last record is published."""
    settings = Connections(home=tmp_path)
    plan = Plan("one", "local", {}, 1, logic_revision=LOGIC_REVISION, code="c", units=())
    directory = save(plan, runs_dir(settings))

    with only_run(directory), pytest.raises(RunInUse, match="run one is in use"):
        publish(settings, "last", print)


def test_one_publication_at_a_time(tmp_path: Path) -> None:
    with (
        _only_publication(tmp_path),
        pytest.raises(StackError, match="is being published"),
        _only_publication(tmp_path),
    ):
        pass


@pytest.fixture(name="settings")
def a_home_whose_changelogs_have_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Connections:
    """Replace broker and database. The run's revision has progress; another revision decides."""
    settings = Connections(home=tmp_path)
    directory = save(Plan("one", "local", {}, 1, LOGIC_REVISION, "rules", ()), runs_dir(settings))
    found = Publishable("one", "rules", directory, ())
    answers = {
        "publishable": lambda *_: found,
        "refuse_workers": lambda *_: None,
        "connect": lambda *_: nullcontext(),
        "refuse_other_review": lambda *_: None,
        "create_topics": lambda *_: None,
        "_have_records": lambda *_: True,
        "active": lambda *_: LOGIC_REVISION + 1,
        "progress.reached": lambda *_, **__: {0: 5},
        "kafka.topic_id": lambda _, topic: topic,
    }
    for name, answer in answers.items():
        monkeypatch.setattr(f"deploy.revisions.publish.{name}", answer)
    return settings


def test_a_refused_publication_does_not_claim_the_revision_number(
    settings: Connections, tmp_path: Path
) -> None:
    with pytest.raises(StackError, match="has its own state already, next offsets"):
        publish(settings, "one", print)

    shadow.claim(Home(settings.home), LOGIC_REVISION, tmp_path / "tree", "rules of the state")


def test_publish_advises_to_delete_state_that_other_rules_wrote(
    settings: Connections, tmp_path: Path
) -> None:
    shadow.claim(Home(settings.home), LOGIC_REVISION, tmp_path, "others")

    with pytest.raises(StackError, match="was written by rules with the hash others") as refused:
        publish(settings, "one", print)

    assert refused.value.repair == f"inventory revision retire {LOGIC_REVISION} --delete"


def test_publish_does_not_advise_to_delete_the_deciding_revision(
    settings: Connections, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "active", lambda _: LOGIC_REVISION)
    shadow.claim(Home(settings.home), LOGIC_REVISION, tmp_path, "others")

    with pytest.raises(StackError, match=r"hash others. .* decides here; to") as refused:
        publish(settings, "one", print)

    assert refused.value.repair == "inventory revision list"
