"""Pages in other languages: each visible text goes through gettext, and people choose a language.

One test requests every page in the pseudo-language of `tests.translation.pseudo`, which puts each
translated message in brackets. A text without brackets is data, or a listed exception, or a text
that no translation can reach.
"""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.test import Client

from tests.ledger.addresses import COMPANY, COMPANY_PAGES, FORMS, LISTS, PAGES, sent
from tests.ledger.pages import person
from tests.ledger.planted import PERSON, Store, two_stores
from tests.ledger.postgres import Server
from tests.ledger.test_access_matrix import body, visitor
from tests.ledger.visible import outside, visible
from tests.translation.pseudo import CODE, pseudo_language, write_catalogues
from webui.translation.words import WORDS

# Roles that together may open every page. The first role that may open a page requests it.
ROLES = ("operator", "lead", "manager", "pricing")
ACCOUNT = ("password", "second-factor", "sessions", "tokens")
TABS = ("demand", "reorder", "price", "policy", "sources")
# Texts of the planted rows: codes, names, notes, and ids that contain them.
DATA = re.compile(
    r"\b(MINE|THEIRS)\w*(-[12])?( note)?\b|\b(Mine|Theirs) (street|product)\b"
    r"|\b(mine|theirs)-(person|order)\b|\b(ASKED|ACME|Acme|TEA|BORG|OSLO|ada)\b|\bROME-1\b"
    rf"|\b{PERSON}\b|\b[RP]:\S+|\bT-\w+|\blocal-[ab]\b|\bshrink\b|\bExample Retail\b"
)
# Patterns of texts that are never translated, with the reason.
EXCEPTIONS = {
    r"\bOnhand\b|\bEnglish\b|\bDeutsch\b|\bPseudo\b": "names",
    r"\bUTC\b|\bSKU\b|\bGTIN\b": "written alike in every language",
    r"^\w+:\w+$": "scopes of tokens, as programs send them",
    r"\b(GET|POST) /\S*": "addresses of refused requests",
    r"\b(associate|manager|buyer|lead|pricing|analyst|operator)\b": "codes of roles",
    r"^[: ]*(This page or action needs the right to .*|further addresses)$": "recorded reasons",
    r"^order$": "an action of the audit log, with the id of a plural",
    r"^(Reorder point units|Shrink)$": "columns of compared records, names of questions",
    r"\bsource must be an object, got None\b": "the detail of a rejected record",
    r"^(sales|adjustment|item_location|stock\.)\b.*": "lines of `inventory explain`",
    r"^\d+ rows?(: theft -\d)?$|^current$": "numbers of these lines",
}


@pytest.fixture(scope="module")
def stores(request: pytest.FixtureRequest) -> Iterator[tuple[Store, Store]]:
    """Two stores with rows in each table that pages read."""
    with two_stores(request) as found:
        yield found


@pytest.fixture(scope="module")
def locale(database: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the catalogues of the pseudo-language once, which takes a second. Return the folder."""
    folder = tmp_path_factory.mktemp("locale")
    write_catalogues(folder)
    return folder


def addresses(store: Store) -> dict[str, str]:
    """Return name → address of every page, and of each tab of an item and view of a list."""
    item = PAGES["item"](store)
    return {
        **LISTS,
        **COMPANY,
        **COMPANY_PAGES,
        **{name: page(store) for name, page in PAGES.items()},
        **{f"item, {tab}": f"{item}?tab={tab}" for tab in TABS},
        **{f"orders, {view}": f"/orders/?view={view}" for view in ("draft", "open", "overdue")},
        **{f"reorders, {view}": f"/reorders/?view={view}" for view in ("held", "closed")},
        **{f"prices, {view}": f"/prices/?view={view}" for view in ("closed", "changes")},
        **{
            f"counts, {name}": f"/counts/{name}/?show=adjustments"
            for name in ("waiting", "history")
        },
        **{f"account, {name}": f"/account/{name}/" for name in ACCOUNT},
    }


def untranslated(answer: Any) -> list[str]:
    """Return the visible texts of an answer that are neither in brackets nor data."""
    if not answer.headers.get("Content-Type", "").startswith("text/html"):
        return []
    found = []
    for text in outside(visible(body(answer))):
        rest = DATA.sub("", text).strip(" ·,:()=")
        for pattern in EXCEPTIONS:
            rest = re.sub(pattern, "", rest)
        if re.search(r"[^\W\d_]{2}", rest):
            found.append(text)
    return found


def in_pseudo(client: Client) -> Client:
    client.cookies["django_language"] = CODE
    return client


def test_every_text_of_every_page_goes_through_gettext(
    stores: tuple[Store, Store], server: Server, database: str, locale: Path
) -> None:
    own, _ = stores
    left, found = addresses(own), {}
    with psycopg.connect(server.url("postgres", database), autocommit=True) as owner:
        owner.execute("DELETE FROM app.refusal")  # rows of other tests, whose reasons pages show
    with pseudo_language(locale):
        for role in ROLES:
            client = in_pseudo(visitor(role))
            for name, path in [*left.items()]:
                answer = client.get(path)
                if answer.status_code == 200:
                    del left[name]
                found[f"{name}, {role}"] = untranslated(answer)
        for path in ("/login/", "/offline/", "/no-such-page/"):
            found[path] = untranslated(in_pseudo(Client(SERVER_NAME="localhost")).get(path))

    people = {*import_module("django.contrib.auth.models").User.objects.values_list("username")}
    left_over = {
        name: [text for text in texts if (text,) not in people] for name, texts in found.items()
    }
    assert left == {}
    assert {name: texts for name, texts in left_over.items() if texts} == {}


@pytest.mark.parametrize("role", ROLES)
def test_refusals_of_forms_go_through_gettext(
    stores: tuple[Store, Store], locale: Path, role: str
) -> None:
    own, _ = stores
    found = {}
    with pseudo_language(locale):
        client = in_pseudo(visitor(role, own.location))
        for name, form in FORMS.items():
            path, fields = form(own)
            emptied = sent(dict.fromkeys(fields, ""))
            found[name] = untranslated(client.post(path, emptied))

    assert {name: texts for name, texts in found.items() if texts} == {}


def test_untranslated_text_is_detected_in_a_pseudo_language_page() -> None:
    page = '<p title="Planted">⟦Öñé <b>⟦twö⟧</b>⟧ 3 <code>x y</code><a>planted, too</a></p>'

    assert [*outside(visible(page))] == ["Planted", "planted, too"]


def test_browser_language_applies_until_a_person_chooses_one(ledger: psycopg.Connection) -> None:
    client = person("buyer")

    german = client.get("/orders/", headers={"accept-language": "de-AT,en;q=0.5"})
    answer = client.post("/language/", {"language": "en", "next": "/orders/"})
    english = client.get("/orders/", headers={"accept-language": "de-AT,en;q=0.5"})

    assert (german.headers["Content-Language"], english.headers["Content-Language"]) == ("de", "en")
    assert "<h1>Bestellungen</h1>" in body(german)
    assert '<html lang="de">' in body(german)
    assert "<h1>Orders</h1>" in body(english)
    assert answer.headers["Location"] == "/orders/"
    cookie = answer.cookies["django_language"]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")


@pytest.mark.parametrize(
    "given",
    [
        {"language": "xx", "next": "/orders/"},
        {"language": "de", "next": "https://elsewhere.example/"},
        {"language": "de"},
    ],
)
def test_language_choice_redirects_only_to_pages_of_this_site(
    ledger: psycopg.Connection, given: dict[str, str]
) -> None:
    answer = Client(SERVER_NAME="localhost").post("/language/", given)

    assert answer.headers["Location"] in ("/login/", "/orders/")
    assert ("django_language" in answer.cookies) == (given["language"] == "de")


def test_refusal_of_a_form_is_shown_in_german(ledger: psycopg.Connection) -> None:
    client = person("buyer")
    client.cookies["django_language"] = "de"

    page = client.post("/reorders/decide", sent({"proposal": "x", "action": "y"}))

    assert page.status_code in (409, 422)
    assert "Diese Seite ist veraltet: neu laden." in body(page)


def test_the_api_and_the_record_of_refusals_stay_english(ledger: psycopg.Connection) -> None:
    client = person("associate")
    client.cookies["django_language"] = "de"

    refused = client.get("/history/", headers={"accept-language": "de"})
    reasons = ledger.execute("SELECT reason FROM app.refusal ORDER BY id DESC LIMIT 1").fetchone()
    program = client.get("/api/v1/stock", headers={"accept-language": "de"})

    assert "Es wurde nichts geändert." in body(refused)
    assert reasons == ("This page or action needs the right to see history. Nothing was changed.",)
    assert program.json()["detail"].endswith("Nothing was changed.")


def test_every_right_has_a_translated_name(database: str) -> None:
    roles = import_module("webui.accounts.roles")

    assert {right.replace("_", " ") for right in roles.GROUPS_OF} <= WORDS


def test_scripts_get_their_texts_from_the_page(ledger: psycopg.Connection) -> None:
    client = person("buyer")

    english = body(client.get("/"))
    german = body(client.get("/", headers={"accept-language": "de"}))

    assert 'id="texts"' not in english
    assert '<script id="texts" type="application/json">' in german
    assert '"Resume": "Fortsetzen"' in german


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("/home/", "<small>Filialpersonal</small>"),
        ("/find/", ">Filialen: nächste zuerst</option>"),
        ("/account/sessions/", "<h2>Unbekannter Browser</h2>"),
    ],
)
def test_a_text_inside_of_a_sentence_is_translated_too(address: str, text: str) -> None:
    client = person("associate")
    client.cookies["django_language"] = "de"

    assert text in body(client.get(address))
