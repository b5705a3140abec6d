"""All faults that `inventory bench faults --all` causes, in their order."""

from bench.faults import capturing, poison, processes, stores
from bench.faults.fault import Fault


def all_faults() -> tuple[Fault, ...]:
    """Return every fault, in order.

    The demo's trading process runs only until the stack restarts. So the faults of this process
    come before all faults whose repair restarts the stack. A full disk comes last, because its
    repair moves the home to another disk.
    """
    return (
        *poison.faults(),
        *processes.faults(),
        *capturing.connector_faults(),
        *stores.state_faults(),
        *processes.supervisor_faults(),
        *stores.topic_faults(),
        *capturing.source_faults(),
        stores.disk_fault(),
    )
