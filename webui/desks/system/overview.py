"""The overview of the system: its stages, alarms and replication slot, and its other pages."""

from dataclasses import dataclass

from cdc.contracts.times import us_of
from ledger.kernel.transactions import database_now
from ledger.webhooks.queries import Trouble, trouble
from webui.desks.system import alarms
from webui.desks.system.alarms import Alarm
from webui.desks.system.last_errors import LastError, last_errors, other_errors
from webui.desks.system.probes import Link, chain, with_errors
from webui.desks.system.proofs import Proof, Prover, last_proof, prover
from webui.desks.system.queries import (
    LateSales,
    PartitionRow,
    late_sales,
    partition_rows,
)
from webui.desks.system.restores import RestoreTotals, restore_totals
from webui.desks.system.slot import Slot, slot
from webui.readmodel.live_key import partition_map
from webui.readmodel.rejected import waiting


@dataclass(frozen=True, slots=True)
class Overview:
    """The state of the system at one moment.

    `served` is the number of partitions with a worker. `map_problem` is empty, or the reason why no
    worker has answered. `others` are the errors of services that belong to no stage.
    """

    links: list[Link]
    alarms: list[Alarm]
    slot: Slot | None
    proof: Proof | None
    prover: Prover
    late: LateSales
    restores: RestoreTotals
    rejected_count: str
    served: int
    partitions: list[PartitionRow]
    map_problem: str
    others: list[LastError]
    webhooks: Trouble


def overview() -> Overview:
    """Probe all stages from Postgres to the pages; return everything that the page shows."""
    errors = last_errors()
    links = with_errors(chain(), errors)
    now_us = us_of(database_now())
    found = partition_map()
    held = partition_rows(found.rows, now_us)
    proof, schedule, wal, webhooks = last_proof(), prover(), slot(), trouble()
    raised = [
        *alarms.of_stages(links, now_us),
        *alarms.of_slot(wal),
        # If no worker answers, the owners are unknown. Then only the stage Workers has an alarm.
        *alarms.of_partitions([] if found.problem else [row.state for row in held]),
        *alarms.of_proofs(proof, schedule),
        *alarms.of_rejected(),
        *alarms.of_stop(),
        *alarms.of_webhooks(webhooks),
    ]
    return Overview(
        links=links,
        alarms=alarms.ranked(raised),
        slot=wal,
        proof=proof,
        prover=schedule,
        late=late_sales(),
        restores=restore_totals(),
        rejected_count=waiting(),
        served=sum(row.state != "down" for row in held),
        partitions=held,
        map_problem=found.problem,
        others=other_errors(errors),
        webhooks=webhooks,
    )
