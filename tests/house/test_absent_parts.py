"""Parts that `docs/security/asvs.md` calls absent are absent: no requirement about them applies."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from deploy.stack.home import PROJECT
from tests.house.sources import PACKAGES, committed_files, name, parsed, python_files

# Processes that answer requests or read records; `deploy` and `bench` are commands.
SERVICES = ("inventory", "cdc", "ledger", "streams", "analytics", "webui")
MODULES = {
    "LDAP, XPath and XML": {"ldap", "ldap3", "lxml", "xml", "defusedxml", "pylatex"},
    "pickle and its kin": {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"},
    "mail, phone and chat": {"smtplib", "imaplib", "django.core.mail", "twilio", "slack_sdk"},
    "logs of another place": {
        "logging.handlers",
        "syslog",
        "sentry_sdk",
        "opentelemetry",
        "loguru",
    },
    "memcache": {"memcache", "pylibmc", "pymemcache"},
    "Markdown and HTML input": {"markdown", "mistune", "bleach", "nh3", "html5lib"},
    "templates of text": {"jinja2", "mako", "string.Template", "django.template.Template"},
    "GraphQL": {"graphene", "graphql", "strawberry", "ariadne"},
    "WebSocket and WebRTC": {"channels", "websockets", "socketio", "aiortc"},
    "OAuth, OIDC and SAML": {"allauth", "authlib", "oauthlib", "jwt", "jose", "saml2", "onelogin"},
    "other cryptography": {"Crypto", "Cryptodome", "nacl", "M2Crypto", "OpenSSL", "rsa", "ecdsa"},
    "key pairs": {"cryptography.hazmat.primitives.asymmetric", "cryptography.x509"},
    "requests of a library that follows addresses": {"requests", "urllib3", "pycurl"},
}
IN_TEMPLATES = {
    "an upload": r"type=.?file|enctype",
    "a plug-in or frame": r"<(object|embed|applet|iframe)\b",
    "text that is not escaped": r"\|\s*safe\b|autoescape|safeseq",
    "an inline script": r"<script(?![^>]*\bsrc=)",
    "an inline handler or style": r"\son[a-z]+=|\sstyle=",
    "an address of somebody else": r"https?://",
    "a hint or question for a password": r"security question|password hint",
}
IN_SCRIPTS = {
    "HTML from text": r"innerHTML|outerHTML|insertAdjacentHTML|document\.write",
    "code from text": r"\beval\(|\bFunction\(|setTimeout\(\s*[\"'`]|\bimport\((?![\"']\./)",
    "a message between windows": r"postMessage|BroadcastChannel",
    "a property named by data": r"[\w)\]]\[(?!\d+\])[^\]]+\]\s*=[^=>]|Object\.assign|__proto__",
    "a socket or peer": r"\bWebSocket|RTCPeerConnection",
    "another store of the browser": r"sessionStorage|indexedDB|document\.cookie",
    "an address of somebody else": r"https?://",
}
# uPlot sets styles and options of its own charts by name, and its licence line has an address. No
# person's text reaches it: `charts.js` passes numbers. `test_vendored.py` pins its bytes.
NOT_OF_VENDORED = {"a property named by data", "an address of somebody else"}
IN_PYTHON = {
    "an upload": r"\brequest\.FILES\b",
    "text that is not escaped": r"\b(mark_safe|format_html|SafeString)\b",
    "a template of text": r"\bfrom_string\(|(?<!\w)Template\(",
}
# Modules of services that send requests, and to whom.
OUTGOING = {
    "webui/desks/system/probes.py": "Connect, at the address of the settings",
    "cdc/workers.py": "workers, at addresses of the settings or of their group",
    "cdc/capture/client.py": "Connect, at the address of the settings",
    "cdc/capture/reconciler.py": "errors of the client above",
    "streams/query/peers.py": "workers, at addresses of their group",
    "ledger/webhooks/posting.py": "receivers of webhooks, at the checked addresses of the next one",
    "ledger/webhooks/targets.py": "names of receivers, resolved and checked",
}
CLIENTS = {"httpx", "aiohttp", "urllib.request", "http.client", "ftplib", "socket"}
# Modules that build a regular expression, with its source, which is never a request.
MADE_PATTERNS = {
    "ledger/access/narrowing.py": "names of relations in our own SQL",
    "streams/engine/level_rows.py": "names and types of the fields of a window row",
    "webui/accounts/open_sessions.py": "marks of browsers from a table of this module",
}
STORED = {
    "frame.js": "inventory-names",
    "keys.js": "inventory-single-keys",
    "kept.js": "inventory-scan-",
    "scan.js": "inventory-scan-ask",
    "find.js": "inventory-recent-",
}


def imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def imported_by(path: Path) -> tuple[str, ...]:
    return tuple(imports(parsed(path)))


def is_of(imported: str, modules: set[str]) -> bool:
    return any(imported == module or imported.startswith(f"{module}.") for module in modules)


def found_in(pattern: str, *kinds: str) -> list[str]:
    files = chain.from_iterable((PROJECT / "webui").rglob(kind) for kind in kinds)
    return [
        f"{path.name}: {line.strip()[:90]}"
        for path in sorted(files)
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(pattern, line)
    ]


@pytest.mark.parametrize("part", MODULES)
def test_no_module_imports_a_package_that_asvs_md_calls_absent(part: str) -> None:
    found = [
        f"{name(path)} imports {imported}"
        for path in python_files(*PACKAGES)
        for imported in imported_by(path)
        if is_of(imported, MODULES[part])
    ]

    assert found == []


@pytest.mark.parametrize("part", IN_TEMPLATES)
def test_no_template_has_a_feature_that_asvs_md_calls_absent(part: str) -> None:
    assert found_in(IN_TEMPLATES[part], "*.html") == []


@pytest.mark.parametrize("part", IN_SCRIPTS)
def test_no_script_has_a_feature_that_asvs_md_calls_absent(part: str) -> None:
    vendored = {path.name for path in (PROJECT / "webui/static/vendor").rglob("*.js")}
    exempt = vendored if part in NOT_OF_VENDORED else set()

    found = found_in(IN_SCRIPTS[part], "*.js")

    assert [line for line in found if line.partition(":")[0] not in exempt] == []


@pytest.mark.parametrize("part", IN_PYTHON)
def test_no_python_module_of_webui_has_a_feature_that_asvs_md_calls_absent(part: str) -> None:
    assert found_in(IN_PYTHON[part], "*.py") == []


def test_the_searches_for_absent_features_detect_planted_examples() -> None:
    planted = '<p style="x" onclick="y">{{ a|safe }}</p><script>z()</script><iframe>'
    kinds = ("text that is not escaped", "an inline script", "an inline handler or style")

    assert all(re.search(IN_TEMPLATES[kind], planted) for kind in kinds)
    assert is_of("xml.etree.ElementTree", MODULES["LDAP, XPath and XML"])
    assert [*imports(ast.parse("from urllib import request"))] == ["urllib.request"]


def test_only_named_modules_of_services_send_requests() -> None:
    found = {
        name(path)
        for path in python_files(*SERVICES)
        for imported in imported_by(path)
        if is_of(imported, CLIENTS) and imported != "aiohttp.web"
    }

    assert found == OUTGOING.keys()


def test_regular_expressions_are_literals_except_in_listed_modules() -> None:
    verbs = {"compile", "match", "search", "fullmatch", "sub", "findall", "split", "finditer"}
    made = {
        name(path)
        for path in python_files(*SERVICES)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and ast.unparse(node.func.value) == "re"
        and node.func.attr in verbs
        and not isinstance(node.args[0], ast.Constant)
    }

    assert made == MADE_PATTERNS.keys()


def test_browsers_store_scans_recent_items_names_and_two_preferences_only() -> None:
    users = {
        path.name: path.read_text(encoding="utf-8")
        for path in (PROJECT / "webui/static/js").glob("*.js")
        if "localStorage" in path.read_text(encoding="utf-8")
    }

    assert users.keys() == STORED.keys()
    assert all(STORED[file] in text for file, text in users.items())


def test_only_the_service_worker_caches_responses() -> None:
    """The service worker stores files without data, and one list, which the login page deletes."""
    assert {line.partition(":")[0] for line in found_in(r"\bcaches\.", "*.js")} == {
        "service-worker.js"
    }


def test_no_source_manages_its_memory_itself() -> None:
    listed = committed_files()

    assert [path for path in listed if re.search(r"\.(c|cc|cpp|h|pyx|rs|go|so)$", path)] == []
