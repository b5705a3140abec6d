from cdc.contracts.state import encode_level
from inventory.model.ids import InvKey, Position
from inventory.model.price_timeline import PriceRow
from inventory.model.state import Demand, KeyState, Stock
from webui.live.patches import patch_of_record, patch_of_row
from webui.readmodel.stock import StockRow


def test_a_changelog_record_and_its_read_model_row_give_the_same_page_update() -> None:
    state = KeyState(
        inv_key=InvKey("L|A"),
        position=Position(1, 42),
        stream_time_us=7_000_000,
        stock=Stock(on_hand_units=-3, on_order_units=12, in_transit_units=6),
        demand=Demand(rate_micro=4_000_000),
        timeline=(
            PriceRow(6_000_000, 1, 999, 0, "initial"),
            PriceRow(8_000_000, 2, 899, 0, "rule"),
        ),
    )
    row = StockRow(
        inv_key="L|A",
        location="L",
        sku="A",
        name="A",
        supplier=None,
        on_hand_units=-3,
        available_to_sell_units=-3,
        in_transit_units=6,
        on_order_units=12,
        stock_known=False,
        status="negative",
        rate_micro=4_000_000,
        price_minor=999,
        priced_at_us=7_000_000,
        generation=1,
        partition=0,
        offset=42,
        as_of_us=0,
    )

    live = patch_of_record(encode_level(state, ()))
    read = patch_of_row(row)

    assert live["position"] == read["position"] == [1, 42]
    assert live["status"] == read["status"]
    assert read["cells"].items() <= live["cells"].items()
    assert read["cells"]["offset"] == "42"
    assert live["cells"]["on_hand"] == "−3"
    assert live["cells"]["cover"] == "1.5 d"
    assert live["cells"]["price"] == "€9.99"
    assert live["priced_at_us"] == read["priced_at_us"] == 7_000_000
