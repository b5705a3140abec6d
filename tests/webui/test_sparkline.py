from webui.desks.stock.sparkline import small_bars


def test_sparkline_bars_scale_from_zero_to_the_highest_value_on_a_baseline() -> None:
    drawn = small_bars([0, 1, 0, 7])

    assert drawn == "M0 15h11v2H0zM3 15v-3h2V15zM9 15v-15h2V15z"


def test_days_without_sales_show_only_the_baseline() -> None:
    assert small_bars([0] * 24) == "M0 15h71v2H0z"
