"""Scripts and style sheets that the server sends joined, and what each page may load."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from deploy.stack.home import PROJECT
from webui.config.joined_files import NotJoinable, join_script, join_style
from webui.config.static_files import SCRIPTS, STYLES, serve_joined

STATIC = PROJECT / "webui/static"
TEMPLATES = PROJECT / "webui/templates"
DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
# The service worker runs outside of pages.
ALONE = {"service-worker.js"}


def written(folder: Path, **modules: str) -> Path:
    """Write modules by name, and return the path of `app.js`."""
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    return folder / "app.js"


def numbers(segment: str) -> list[int]:
    """Return the variable-length quantities of a source map, decoded."""
    found, bits, shift = [], 0, 0
    for digit in map(DIGITS.index, segment):
        bits |= (digit & 31) << shift
        shift += 5
        if not digit & 32:
            found.append(-(bits >> 1) if bits & 1 else bits >> 1)
            bits, shift = 0, 0
    return found


def pairs(joined: str, source_map: str) -> Iterator[tuple[str, str]]:
    """Yield each mapped line of a joined script with the line of its source."""
    made = json.loads(source_map)
    sources = [text.splitlines() for text in made["sourcesContent"]]
    module = line = 0
    lines = joined.splitlines()
    segments = made["mappings"].split(";")
    assert len(segments) == len(lines)
    for text, segment in zip(lines, segments, strict=True):
        if segment:
            column, more_modules, more_lines, source_column = numbers(segment)
            assert column == source_column == 0
            module, line = module + more_modules, line + more_lines
            yield text, sources[module][line]


def test_a_script_has_each_module_once_and_before_its_importers(tmp_path: Path) -> None:
    entry = written(
        tmp_path,
        app='import { one } from "./one.js";\n'
        'import { two, too } from "./two.js";\n'
        "one(two, too);\n",
        one='import { two } from "./two.js";\nexport async function one() {}\n',
        two="const kept = 1;\nexport function two() {}\nexport const too = kept;\n",
    )

    text = join_script(entry).text

    assert re.findall(r"^modules\[\"(.*?)\"\]", text, re.MULTILINE) == [
        "two.js",
        "one.js",
        "app.js",
    ]
    assert 'const { two, too } = modules["two.js"];\none(two, too);\nreturn {  };' in text
    assert "const kept = 1;\nfunction two() {}\nconst too = kept;\nreturn { two, too };" in text
    assert "async function one() {}\nreturn { one };\n})();" in text


def test_the_source_map_leads_from_each_line_to_its_module() -> None:
    made = join_script(STATIC / "js/app.js")

    found = list(pairs(made.text, made.source_map))

    same = [joined for joined, source in found if joined == source]
    changed = [source for joined, source in found if joined != source]
    assert all(re.match(r"(import|export) ", line) for line in changed)
    assert len(same) > 10 * len(changed) > 0


@pytest.mark.parametrize(
    "line",
    [
        'import one from "./one.js";',
        'import { one as two } from "./one.js";',
        'import "./one.js";',
        "export default 1;",
        "export { app };",
        "export let app = 1;",
    ],
)
def test_another_form_of_import_or_export_is_refused(tmp_path: Path, line: str) -> None:
    entry = written(tmp_path, app=f"// Entry.\n{line}\n", one="export const one = 1;\n")

    with pytest.raises(NotJoinable, match=r"app\.js, line 2"):
        join_script(entry)


def test_modules_that_import_each_other_are_refused(tmp_path: Path) -> None:
    entry = written(
        tmp_path,
        app='import { one } from "./one.js";\n',
        one='import { app } from "./app.js";\n',
    )

    with pytest.raises(NotJoinable, match=r"app\.js imports one\.js imports app\.js"):
        join_script(entry)


def test_a_joined_style_sheet_has_the_imported_rules_in_place_of_the_import(tmp_path: Path) -> None:
    (tmp_path / "base.css").write_text("a { color: red; }\n")
    (tmp_path / "page.css").write_text('/* Page. */\n@import "base.css";\nb { color: blue; }\n')

    assert join_style(tmp_path / "page.css").splitlines() == [
        *("/* Page. */", "/* base.css */", "a { color: red; }", "b { color: blue; }"),
    ]


@pytest.mark.parametrize("line", ['@import url("x.css");', "b { background: url(x.png); }"])
def test_a_style_sheet_with_a_url_is_refused(tmp_path: Path, line: str) -> None:
    page = tmp_path / "page.css"
    page.write_text(f"{line}\n")

    with pytest.raises(NotJoinable, match=r"page\.css, line 1"):
        join_style(page)


def modules_of(script: str) -> set[str]:
    return set(json.loads(join_script(STATIC / script).source_map)["sources"])


def test_every_module_is_part_of_a_script_of_pages() -> None:
    joined = set().union(*map(modules_of, SCRIPTS))

    assert {path.name for path in (STATIC / "js").glob("*.js")} - joined == ALONE


def test_the_printable_order_shares_its_print_button_with_the_labels() -> None:
    own = modules_of("js/document.js") - {"document.js"}

    assert own == {"print.js"}
    assert own < modules_of("js/app.js")


def test_every_style_sheet_that_imports_another_is_joined() -> None:
    importing = {
        f"css/{path.name}"
        for path in (STATIC / "css").glob("*.css")
        if "@import" in path.read_text(encoding="utf-8")
    }

    assert importing == set(STYLES)


def test_a_page_loads_one_script_and_at_most_two_style_sheets() -> None:
    """`base.html` loads a script and a style sheet. Other templates add at most a style sheet."""
    for path in TEMPLATES.rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        scripts = re.findall(r"<script[^>]* src=", page)
        styles = re.findall(r'rel="stylesheet"', page)
        most = 1 if path.name in ("base.html", "document.html") else 0
        assert len(scripts) <= most, path.name
        assert len(styles) <= 1, path.name


def test_a_joined_file_is_cached_and_sent_only_for_get_requests() -> None:
    serve = serve_joined(lambda _request: HttpResponse("another page"))
    requests = RequestFactory()

    def answer(request: HttpRequest) -> HttpResponse:
        found = serve(request)
        assert isinstance(found, HttpResponse)
        return found

    for name in (*SCRIPTS, "js/app.js.map", *STYLES):
        address = f"/static/{name}"
        first = answer(requests.get(address))
        assert (first.status_code, first["Cache-Control"]) == (200, "max-age=60, public")
        again = answer(requests.get(address, headers={"if-none-match": first["ETag"]}))
        assert (again.status_code, again.content) == (304, b"")
        assert answer(requests.post(address)).status_code == 405
    assert answer(requests.get("/static/js/keys.js")).content == b"another page"
