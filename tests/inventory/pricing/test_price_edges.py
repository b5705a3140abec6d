"""The edges of signals, targets and clamps (vectors P1 to P20: test_worked_tables.py)."""

import pytest

from inventory.model.arithmetic import DAY_US
from inventory.model.episode import NO_PROPOSAL
from inventory.pricing.proposals import PricingTrigger, next_proposal
from inventory.pricing.targets import Clamped, PriceFrame, clamped_up
from tests.inventory.decision_inputs import KEY, NOW_US, at, market, priced

OVERSTOCK = {"rate_micro": 1_000_000, "on_hand_units": 1000}
SELLING_FAST = {"rate_micro": 10_000_000, "on_hand_units": 20, "sold_last_24h_units": 15}
SELLING = {"rate_micro": 10_000_000, "on_hand_units": 200}
SCARCE = {"scarce_enabled": True}


def evaluated(ranged, old, step, **inputs):
    episode, output = next_proposal(
        KEY,
        at(7),
        NO_PROPOSAL,
        market(ranged, old=old, step=step, **inputs),
        PricingTrigger(evaluate=True),
    )
    if output is None:
        assert episode.id is None
        return episode.reason
    assert (output.id, output.revision, output.status) == ("P:L|S:1-7", 1, "open")
    return output.signal, output.new_minor, output.clamps


@pytest.mark.domain("6.1 scarce *")
def test_the_scarce_signal_needs_positive_demand_and_cover_below_its_limit():
    ranged = priced(**SCARCE)
    at_cover = {"rate_micro": 5_000_000, "on_hand_units": 15, "sold_last_24h_units": 100}
    assert evaluated(ranged, 999, 0, **at_cover) == "no_signal"
    assert evaluated(priced(), 999, 0, **(at_cover | {"on_hand_units": 1})) == "no_signal"
    for rate in (0, -5_000_000):
        free = at_cover | {"rate_micro": rate, "on_hand_units": 0}
        assert evaluated(ranged, 999, 0, **free) == "no_signal"


def test_cover_includes_in_transit_units_and_excludes_allocated_units():
    inputs = {"rate_micro": 5_000_000, "on_hand_units": 200, "allocated_units": 20}
    assert evaluated(priced(), 999, 0, in_transit_units=100, **inputs) == "no_signal"
    assert evaluated(priced(), 999, 0, in_transit_units=101, **inputs)[0] == "overstock"
    oversold = {"rate_micro": 5_000_000, "on_hand_units": 0, "in_transit_units": 1000}
    assert evaluated(priced(), 999, 0, **oversold) == "no_signal"


@pytest.mark.domain("6.1 overstock")
def test_stock_without_demand_gives_an_overstock_signal():
    assert evaluated(priced(), 999, 0, rate_micro=0)[0] == "overstock"
    assert evaluated(priced(initial_rate_micro=0), 999, 0, rate_micro=None)[0] == "overstock"
    assert evaluated(priced(initial_rate_micro=10**9), 999, 0, rate_micro=None) == "no_signal"


@pytest.mark.domain("6.1 idle")
@pytest.mark.parametrize(("quiet", "signal"), [(21 * 72, "idle"), (21 * 72 - 1, "no_signal")])
def test_the_idle_signal_needs_three_weeks_of_quiet_windows(quiet, signal):
    ranged = priced(trading_windows=72)
    found = evaluated(ranged, 999, 0, rate_micro=50_000_000, quiet_windows=quiet)
    assert (found if isinstance(found, str) else found[0]) == signal


@pytest.mark.domain("6.1 restore")
@pytest.mark.parametrize(("on_hand", "signal"), [(279, "restore"), (280, "no_signal")])
def test_a_markdown_is_restored_under_four_weeks_of_cover(on_hand, signal):
    found = evaluated(priced(), 849, 1, rate_micro=10_000_000, on_hand_units=on_hand)
    assert (found if isinstance(found, str) else found[0]) == signal


def test_a_markdown_without_stock_or_demand_stays():
    assert evaluated(priced(), 849, 1, rate_micro=0, on_hand_units=0) == "no_signal"


@pytest.mark.domain("6.1 below_floor", "11.9 Known stock")
@pytest.mark.parametrize("missing", [{"stock_known": False}, {"observed_days": 13}])
def test_only_the_below_floor_signal_works_without_known_stock_or_history(missing):
    assert evaluated(priced(), 999, 0, **missing) == "no_signal"
    assert evaluated(priced(cost_minor=800), 999, 0, **missing)[0] == "below_floor"


@pytest.mark.domain("6.1 below_floor", "11.9 Below floor")
def test_a_price_at_its_floor_is_not_below_it():
    assert evaluated(priced(), 750, 0, rate_micro=50_000_000) == "no_signal"
    found = evaluated(priced(), 749, 0, rate_micro=50_000_000)
    assert found == ("below_floor", 799, ("floor",))


def test_the_regular_price_is_allowed_whatever_its_ending():
    ranged = priced(regular_minor=1210, cost_minor=800)
    assert evaluated(ranged, 999, 0)[1] == 1210


@pytest.mark.domain("11.9 Right side", "11.9 Reasons")
def test_a_target_price_equal_to_the_old_price_gives_no_change():
    assert evaluated(priced(), 849, 0) == "no_change"
    assert evaluated(priced(), 999, 1, **SELLING) == "no_change"


@pytest.mark.domain("11.9 First signal")
def test_a_suppressed_first_signal_prevents_later_signals():
    ranged = priced(scarce_enabled=True, raise_permille=())
    assert evaluated(ranged, 849, 1, **SELLING_FAST)[:2] == ("scarce", 999)
    assert evaluated(ranged, 999, 0, quiet_windows=9999, **SELLING_FAST) == "ladder_end"


def test_a_price_at_the_largest_total_reduction_is_not_cut_further():
    ranged = priced(cost_minor=0, ladder_permille=(100, 700), endings=())
    assert evaluated(ranged, 450, 1) == "max_step,max_off"
    assert evaluated(ranged, 500, 1) == "max_step,max_off"
    assert evaluated(ranged, 501, 1) == ("overstock", 500, ("max_step", "max_off"))


def test_a_price_lowered_to_an_allowed_ending_lists_the_ending_clamp():
    assert evaluated(priced(ladder_permille=(140,)), 999, 0) == ("overstock", 849, ("ending",))
    ranged = priced(scarce_enabled=True, raise_permille=(80,))
    assert evaluated(ranged, 999, 0, **SELLING_FAST) == ("scarce", 1049, ("ending",))


def test_only_the_regular_price_is_proposed_if_the_endings_are_impossible():
    assert evaluated(priced(endings=(149,)), 999, 0) == "ending_up"
    assert evaluated(priced(endings=(149,)), 1049, 0, on_hand_units=1000)[1] == 999


def test_a_raise_that_no_ending_allows_is_suppressed_with_a_reason():
    ranged = priced(scarce_enabled=True, endings=(98,))
    assert evaluated(ranged, 999, 0, **SELLING_FAST)[1] == 1098
    ranged = priced(scarce_enabled=True, endings=(99,))
    assert evaluated(ranged, 999, 0, **SELLING_FAST) == "ending_up"
    ranged = priced(scarce_enabled=True, endings=(149,))
    assert evaluated(ranged, 1000, 0, **SELLING_FAST) == "ending_up"


def test_a_raise_obeys_its_greatest_step():
    ranged = priced(cost_minor=350, max_step_permille=20, endings=())
    assert evaluated(ranged, 800, 1, **SELLING) == ("restore", 816, ("max_step",))


@pytest.mark.domain("11.9 Right side")
def test_a_raise_below_the_floor_goes_up_to_the_floor_if_the_step_allows():
    frame = PriceFrame(old_minor=800, regular_minor=1000, floor_minor=850, endings=())
    assert clamped_up(priced(), frame, 820) == Clamped(850, ("floor",))
    high = PriceFrame(old_minor=800, regular_minor=1000, floor_minor=970, endings=())
    assert clamped_up(priced(), high, 820) == Clamped(None, ("floor", "max_step", "ending_up"))


def test_a_price_step_beyond_the_ladder_gives_ladder_end():
    assert evaluated(priced(), 840, 4, **SELLING) == "ladder_end"
    assert evaluated(priced(), 840, 3, **SELLING) == "no_change"


@pytest.mark.domain("11.9 In force")
def test_the_old_price_without_price_rows_is_the_regular_price():
    episode, output = next_proposal(
        KEY,
        at(7),
        NO_PROPOSAL,
        market(priced(), old=1, timeline=()),
        PricingTrigger(evaluate=True),
    )
    assert output is not None
    assert (output.old_minor, output.step, output.prior_minor) == (999, 1, None)
    assert episode.proposal_price_minor == output.new_minor == 849


def test_a_cut_names_the_prior_price_and_a_raise_does_not():
    ranged = priced()
    cut = next_proposal(
        KEY, at(7), NO_PROPOSAL, market(ranged, old=999), PricingTrigger(evaluate=True)
    )[1]
    assert cut is not None
    assert cut.prior_minor == 999
    raised = next_proposal(
        KEY,
        at(7),
        NO_PROPOSAL,
        market(ranged, old=849, step=1, **SELLING),
        PricingTrigger(evaluate=True),
    )[1]
    assert raised is not None
    assert raised.prior_minor is None
    assert dict(raised.terms)["cover_centidays"] == 2000


def test_the_sample_time_now_us_is_a_utc_midnight():
    assert NOW_US % DAY_US == 0
