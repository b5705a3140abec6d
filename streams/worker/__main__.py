"""`python -m streams.worker`: one stream worker, which runs until a signal stops it."""

import sys
from typing import Final

import uvloop
from confluent_kafka import KafkaException

from cdc import cpu_share
from cdc.contracts.versions import UnreadableRecord
from cdc.logs import configure_logging
from streams.engine.garbage import collect_rarely
from streams.engine.mismatch import LogMismatch
from streams.settings import WorkerSettings
from streams.worker.agents import build_worker
from streams.worker.runtime import die
from streams.worker.topic_identity import refuse_other_topics

# Longest time for which the event loop waits for Python's lock (GIL) while the consumer's thread
# decodes fetched records. A query needs the lock a few times, and waits each time. With Python's
# default of 5 ms, a worker also folded about 5 % fewer records a second.
SWITCH_INTERVAL_S: Final = 0.001


def main() -> None:
    """Run the worker. The exit code is 0 after a signal, otherwise one of `streams.exit_codes`."""
    settings = WorkerSettings()
    configure_logging(level=settings.log_level, service=settings.worker_id)
    try:
        settings.worker_dir.mkdir(parents=True, exist_ok=True)  # Faust creates no parents
        asked = settings.kafka_bootstrap, settings.topics_file, settings.partitions
        origins = refuse_other_topics(*asked)
    except (LogMismatch, UnreadableRecord, KafkaException, OSError) as error:
        die("worker can't start", error)
    cpu_share.lower_share(cpu_share.WORKER)
    collect_rarely()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    uvloop.install()
    sys.argv = sys.argv[:1]  # settings come from the environment; Faust would parse arguments
    build_worker(settings, origins).execute_from_commandline()


if __name__ == "__main__":
    main()
