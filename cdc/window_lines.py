"""SQL that finds sales windows which lack sale or return lines of the ledger.

A window lacks a line that arrived after the window had expired (docs/domain.md 3.2). The item page
and `inventory explain` use this SQL to distinguish such lines from lines that arrived on time.
"""

from typing import Final, LiteralString

# A column for a query in which `f` has the facts of the key %(key)s, from `retail.stock_facts`. For
# a sale or return line, `ledger_lines` is the number of lines in its ten-minute window.
LEDGER_LINES: Final[LiteralString] = """count(*) OVER (
    PARTITION BY f.table_name, extract(epoch FROM f.business_at)::bigint / 600) AS ledger_lines"""
# A join that adds to each fact `f` its window `w`. Here `f` also has the column `ledger_lines`.
WINDOW_OF_FACT: Final[LiteralString] = """
LEFT JOIN read_model.sales_window w ON f.table_name = 'sale_line' AND w.inv_key = %(key)s
    AND w.start_us = extract(epoch FROM f.business_at)::bigint / 600 * 600000000
"""
LACKS_LINES: Final[LiteralString] = """
coalesce(f.ledger_lines > w.sale_lines + w.return_lines, false) AS lacks_lines"""
