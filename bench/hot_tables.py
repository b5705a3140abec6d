"""SQL of `inventory bench hot`: the tables of the side *row*, and the stock of a location.

The name `bench_hot` is a schema that exists only during a run.
"""

from typing import Final, LiteralString

DROP: Final[LiteralString] = "DROP SCHEMA IF EXISTS bench_hot CASCADE"
CREATE: Final[LiteralString] = """
CREATE SCHEMA bench_hot;
CREATE TABLE bench_hot.sale_line (LIKE retail.sale_line INCLUDING ALL);
CREATE TABLE bench_hot.stock (
    inv_key text PRIMARY KEY,
    location text NOT NULL,
    on_hand_units bigint NOT NULL
);
CREATE FUNCTION bench_hot.take() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO bench_hot.stock AS stock (inv_key, location, on_hand_units)
    VALUES (NEW.inv_key, NEW.location, -NEW.quantity_units)
    ON CONFLICT (inv_key) DO UPDATE SET on_hand_units = stock.on_hand_units - NEW.quantity_units;
    RETURN NEW;
END $$;
CREATE TRIGGER take AFTER INSERT ON bench_hot.sale_line
    FOR EACH ROW EXECUTE FUNCTION bench_hot.take();
GRANT USAGE ON SCHEMA bench_hot TO app_rw;
GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA bench_hot TO app_rw;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA bench_hot TO app_rw;
"""
# This query returns the statements that create the triggers of `retail.sale_line` on the table
# `bench_hot.sale_line`.
TRIGGERS: Final[LiteralString] = """
SELECT replace(pg_get_triggerdef(oid), 'ON retail.sale_line', 'ON bench_hot.sale_line')
FROM pg_trigger WHERE tgrelid = 'retail.sale_line'::regclass AND NOT tgisinternal
"""
STOCK_UNITS: Final[LiteralString] = (
    "SELECT coalesce(sum(on_hand_units), 0) FROM bench_hot.stock WHERE location = %s"
)
SHOWN_UNITS: Final[LiteralString] = (
    "SELECT coalesce(sum(on_hand_units), 0) FROM read_model.stock WHERE location = %s"
)
