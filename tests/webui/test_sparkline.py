from webui.desks.stock.sparkline import small_bars


def test_bars_stand_on_a_baseline_and_reach_from_nothing_to_the_highest() -> None:
    drawn = small_bars([0, 1, 0, 7])

    assert drawn == "M0 15h11v2H0zM3 15v-3h2V15zM9 15v-15h2V15z"


def test_a_day_without_a_sale_is_a_line() -> None:
    assert small_bars([0] * 24) == "M0 15h71v2H0z"
