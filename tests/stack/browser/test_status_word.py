import itertools

from tests.stack.browser.shop import Shop
from webui.readmodel.figures import STATUS_SQL, status_of


def test_list_filters_and_live_cells_compute_the_same_status(shop: Shop) -> None:
    edges = (-1, 0, 1, 20, 21, 60, 61)
    levels: tuple[tuple[int | None, int | None], ...] = ((20, 60), (0, 1), (20, None), (None, None))
    cases = [(*c[:2], *c[2]) for c in itertools.product(edges, edges, levels)]

    by_sql = shop.sql(
        f"SELECT {STATUS_SQL} FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])"  # noqa: S608 -- a constant of the project
        " WITH ORDINALITY AS s (on_hand_units, available_to_sell_units, reorder_point_units,"
        " order_up_to_units, place) ORDER BY place",
        *(list(column) for column in zip(*cases, strict=True)),
    )

    by_rule = [
        status_of(
            on_hand_units=on_hand,
            available_to_sell_units=available,
            reorder_point_units=reorder_point,
            order_up_to_units=order_up_to,
        )
        for on_hand, available, reorder_point, order_up_to in cases
    ]
    assert [word for (word,) in by_sql] == by_rule
