"""Find: one card per product with the units of all stores, also for a word with a wrong letter."""

import re
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from inventory.model.ids import InvKey
from ledger.kernel.transactions import database_now, fetch_column, fetch_value
from tests.ledger.folded import state_of
from tests.ledger.inbox import level, put, state
from tests.ledger.pages import person
from tests.ledger.rows import write
from tests.ledger.test_query_counts import BUDGET, statements
from webui.readmodel.alphabet import alphabetic
from webui.readmodel.find import BY_NAME, MOST, MOST_CARDS, NEAREST, exact, find
from webui.readmodel.product_search import words_of

STORES = {"L": "Leeds", "M": "Malmö", "N": "Nantes"}


@pytest.fixture
def shops(ledger: psycopg.Connection) -> psycopg.Connection:
    """Write three stores, L and N in one region. Kettles are in L, M and N, the tea towel in M."""
    for code, name in STORES.items():
        put(ledger, "retail.location", code=code, name=name)
    ledger.execute("DELETE FROM app.location_region")
    ledger.execute(
        "INSERT INTO app.location_region (location, region) VALUES ('L', 'W'), ('N', 'W')"
    )
    for sku, name in (("KET-1", "Copper kettle"), ("TOW-7", "Tea towel, crème")):
        put(ledger, "retail.product", code=sku, name=name, department="Kitchen")
    for key, units in (("L|KET-1", 3), ("M|KET-1", 40), ("N|KET-1", -2), ("M|TOW-7", 5)):
        level(ledger, replace(state(stock={"on_hand_units": units}), inv_key=InvKey(key)))
    return ledger


def others(text: str, sort: str) -> list[tuple[str, int]]:
    [card] = find(text, mine="L", sort=sort).cards
    return [(store.name, store.available) for store in card.others]


def test_find_card_shows_total_own_store_and_other_stores_in_chosen_order(
    shops: psycopg.Connection,
) -> None:
    [card] = find("kettle", mine="L").cards

    assert card.mine is not None
    assert (card.sku, card.mine.available_to_sell_units, card.total) == ("KET-1", 3, 43)
    assert (card.holding, card.stores, card.more_stores) == (2, 3, 0)
    assert others("kettle", NEAREST) == [("Nantes", -2), ("Malmö", 40)]
    assert others("kettle", MOST) == [("Malmö", 40), ("Nantes", -2)]
    assert others("kettle", BY_NAME) == [("Malmö", 40), ("Nantes", -2)]
    assert others("kettle", "hostile; --") == others("kettle", NEAREST)


@pytest.mark.parametrize(
    ("typed", "found", "similar"),
    [
        ("kett", ["KET-1"], False),
        ("ket-1", ["KET-1"], False),
        ("KET1", ["KET-1"], False),
        ("copper KETTLE", ["KET-1"], False),
        ("creme", ["TOW-7"], False),
        ("kettel", ["KET-1"], True),
        ("cooper ketle", ["KET-1"], True),
        ("kittle", ["KET-1"], True),
        ("towell", ["TOW-7"], True),
        ("tae", [], False),
        ("ket-2", [], False),
        ("kattlo", [], False),
        ("'", [], False),
        ("\\", [], False),
    ],
)
def test_find_matches_prefixes_and_words_with_one_wrong_letter(
    shops: psycopg.Connection, typed: str, found: list[str], similar: object
) -> None:
    answer = find(typed, mine="L")

    assert [card.sku for card in answer.cards] == found
    assert answer.similar is similar


@pytest.mark.parametrize(
    "text", ["Crème brûlée", "a  b-c/d", "ÄÖÜ straße", "日本 7", "x" * 60, "I'm"]
)
def test_search_query_is_split_into_the_same_words_as_the_index(database: str, text: str) -> None:
    indexed = fetch_value("SELECT retail.search_words(%s)", text)

    assert sorted(words_of(text)) == sorted(indexed)


def test_search_queries_index_and_sorted_names_remove_the_same_accents(
    database: str,
) -> None:
    """Letters of Europe's languages and of Vietnamese, alone and after an ASCII letter."""
    numbers = [*range(0xC0, 0x250), *range(0x1E00, 0x1F00)]
    letters = [chr(number) for number in numbers if chr(number).isalpha()]
    texts = [*letters, *(f"b{letter}" for letter in letters), "Plain"]

    words = "array_to_string(retail.search_words(text), ' ')"
    query = f"SELECT array[{words}, {alphabetic('text')}] FROM unnest(%s::text[]) AS text"  # noqa: S608 -- the SQL of columns
    found = fetch_column(query, texts)

    for text, (indexed, sorted_by) in zip(texts, found, strict=True):
        assert " ".join(words_of(text)) == indexed, text
        # A search splits at the middle dot of the Catalan letter U+0140, a sorted name keeps it.
        kept = "".join(letter for letter in sorted_by if letter.isalnum())
        assert kept == indexed.replace(" ", "").replace("ß", "ss"), text


def test_find_reports_more_products_beyond_the_card_limit(ledger: psycopg.Connection) -> None:
    for number in range(MOST_CARDS + 1):
        put(ledger, "retail.product", code=f"M-{number}", name="Mug")

    answer = find("mug", mine="")

    assert len(answer.cards) == MOST_CARDS
    assert answer.more
    assert find("M-12", mine="").cards[0].sku == "M-12"


def test_find_shows_an_uncatalogued_sku_only_to_people_of_its_store(
    shops: psycopg.Connection,
) -> None:
    level(shops, replace(state(), inv_key=InvKey("M|UNNAMED")))
    here: Any = person("associate", "ann", stores=("L",))
    there: Any = person("associate", "ben", stores=("M",))

    pages = [client.get("/find/?q=unnamed").content.decode() for client in (here, there)]

    assert ["data-sku=" in page for page in pages] == [False, True]
    assert "No item is called" in pages[0]


def test_find_omits_a_store_that_has_only_a_draft_count_of_the_item(
    shops: psycopg.Connection,
) -> None:
    key = {"location": "N", "sku": "TOW-7", "inv_key": "N|TOW-7"}
    draft = write(shops, "stock_count", units=0, status="draft", occurred_at=database_now(), **key)
    write(shops, "stock_count", units=0, status="draft", occurred_at=database_now(), sku="UNNAMED")
    for counted in ("N|TOW-7", "L|UNNAMED"):
        level(shops, state_of(shops, counted))

    [elsewhere], [here] = (find("tow-7", mine=mine).cards for mine in ("M", "N"))

    assert (elsewhere.stores, elsewhere.others, elsewhere.more_stores) == (1, (), 0)
    assert here.mine is None
    assert [store.name for store in here.others] == ["Malmö"]
    assert (here.stores, here.holding, here.more_stores) == (1, 1, 0)
    assert find("unnamed", mine="L").cards == ()

    shops.execute("UPDATE retail.stock_count SET status = 'approved' WHERE id = %s", [draft])
    level(shops, state_of(shops, "N|TOW-7"))
    [approved] = find("tow-7", mine="N").cards
    assert (approved.stores, approved.mine is None) == (2, False)


def test_scan_takes_whole_codes_in_either_case(shops: psycopg.Connection) -> None:
    found = [exact(code, mine="L") for code in ("KET-1", "ket-1", "KET", "kettle", "K%")]

    assert [card.sku if card else None for card in found] == ["KET-1", "KET-1", None, None, None]


def test_find_page_preselects_the_only_store_of_a_person(
    shops: psycopg.Connection,
) -> None:
    alone: Any = person("associate", "ann", stores=("L",))
    everywhere: Any = person("buyer")

    own = alone.get("/find/?q=kettle").content.decode()
    chosen = everywhere.get("/find/?q=kettle&location=M").content.decode()
    unchosen = everywhere.get("/find/?q=kettle").content.decode()

    assert re.findall(r"here in (\w+)", own) == ["Leeds"]
    assert "Malmö" in own
    assert "/items/M/" not in own
    assert re.findall(r"here in (\w+)", chosen) == ["Malmö"]
    assert "here in" not in unchosen
    assert alone.get("/find/?q=kettle&location=M").status_code == 403


def test_find_takes_few_statements(shops: psycopg.Connection) -> None:
    client = person("associate", "ann", stores=("L",))

    taken = [len(statements(client, f"/find/?q={text}")) for text in ("kettle", "kettel", "e")]

    # A search that finds nothing runs two more queries: for unnamed codes and for similar words.
    assert taken[0] <= BUDGET
    assert max(taken) <= BUDGET + 2


def test_the_camera_is_allowed_on_find_and_scan_alone(shops: psycopg.Connection) -> None:
    client = person("associate")

    policies = {path: client.get(path)["Permissions-Policy"] for path in ("/find/", "/scan/", "/")}

    rest = "microphone=(), geolocation=()"
    assert policies["/find/"] == policies["/scan/"] == f"camera=(self), {rest}"
    assert policies["/"] == f"camera=(), {rest}"


def test_find_scan_and_label_pages_escape_html_in_product_text(shops: psycopg.Connection) -> None:
    put(shops, "retail.product", code="X<b>", name="<img src=x onerror=alert(1)>")
    level(shops, replace(state(), inv_key=InvKey("L|X<b>")))
    client: Any = person("associate", "ann", stores=("L",))

    pages = [
        client.get(path, {"q": "X<b>", "sku": "X<b>"}).content.decode()
        for path in ("/find/", "/scan/", "/labels/")
    ]

    assert ["&lt;img src=x onerror=alert(1)&gt;" in page for page in pages] == [True] * 3
    assert not any("<img" in page or '<b>"' in page for page in pages)


def test_label_page_prints_barcode_and_sku_once_per_requested_copy(
    shops: psycopg.Connection,
) -> None:
    client: Any = person("associate", "ann", stores=("L",))

    page = client.get("/labels/?sku=KET-1&sku=TOW-7&copies=3").content.decode()
    capped = client.get("/labels/?sku=KET-1&copies=999").content.decode()
    odd = client.get("/labels/?sku=KET-1&copies=x").content.decode()

    assert page.count('<p class="code">KET-1</p>') == page.count('<path d="M0 0h2v1h-2z') == 3
    assert "TOW-7</p>" not in page  # not in the range of this store
    assert capped.count('<p class="code">') == 50
    assert odd.count('<p class="code">') == 1
    assert "No label to print" in person("buyer").get("/labels/?sku=KET-1").content.decode()
