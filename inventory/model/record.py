"""A record of one partition of `stock.events`, decoded but not yet checked by any rule."""

from inventory.model.value import value


@value
class Record:
    """A decoded record, unchecked.

    `op` is Debezium's operation, normally c, u, d or r. `before` and `after` are row images, or
    None. An image should map the columns of domain.md 2.6 to values, times as µs since 1970 UTC. It
    is typed `object` because nothing has checked it yet. `lsn` is the Postgres log sequence number,
    `commit_us` is Debezium's `source.ts_us` (µs since 1970 UTC).
    """

    offset: int
    key: str
    table: str
    op: str
    before: object
    after: object
    lsn: int | None
    commit_us: int
