"""A record of one partition of `stock.events`, decoded but not yet checked by any rule."""

from inventory.model.value import value


@value
class Record:
    """A decoded record, unchecked.

    `before` and `after` are row images: mappings with the column names of domain.md 2.6, times as
    epoch microseconds, or None. They are typed `object` because nothing has been checked yet. `lsn`
    is the Postgres log sequence number, `commit_us` Debezium's `source.ts_us`.
    """

    offset: int
    key: str
    table: str
    op: str
    before: object
    after: object
    lsn: int | None
    commit_us: int
