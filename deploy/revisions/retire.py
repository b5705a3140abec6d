"""Retirement of a logic revision: its workers end and, on request, its data is deleted."""

from dataclasses import astuple
from typing import Final

from confluent_kafka import KafkaException

from cdc.capture.admin import delete_group, delete_topics
from cdc.contracts.topics import application_id, output_topics
from cdc.settings import Connections
from deploy.errors import StackError
from deploy.revisions import shadow
from deploy.revisions.promote import active, connect
from deploy.stack.home import Home
from inventory.revision import LOGIC_REVISION

_FORGET: Final = "DELETE FROM read_model.sink_position WHERE topic = ANY(%s)"


def retire(home: Home, settings: Connections, revision: int, *, delete: bool) -> None:
    """End the revision's workers. With `delete`, also delete its topics, its group and its files.

    Raises:
        StackError: the revision decides, this stack's own workers run it, or its group has members.
    """
    if revision == active(settings):
        message = (
            f"logic revision {revision} decides: promote another revision first; nothing was "
            "stopped"
        )
        raise StackError(message, repair="inventory revision list")
    if revision == LOGIC_REVISION:
        message = (
            f"this stack's own workers run logic revision {revision}: deploy other code first; "
            "nothing was stopped"
        )
        raise StackError(message)
    shadow.stop(home, revision)
    if delete:
        _delete_group(settings, revision)
        _delete_topics(settings, revision)
        shadow.forget(home, revision)


def _delete_group(settings: Connections, revision: int) -> None:
    group = application_id(revision)
    try:
        delete_group(settings.kafka_bootstrap, group)
    except KafkaException as error:
        message = (
            f"group {group}: {error.args[0].str()}; end its workers first; nothing was deleted"
        )
        raise StackError(message) from error


def _delete_topics(settings: Connections, revision: int) -> None:
    names = list(astuple(output_topics(revision)))
    delete_topics(settings.kafka_bootstrap, names)
    with connect(settings) as connection:
        connection.execute(_FORGET, (names,))
