"""Subcommands for accounts: add, invite, disable, enable, list, roles, stores, region, password."""

import shlex
import sys
from dataclasses import asdict
from getpass import getpass, getuser
from typing import Annotated, Any, Final
from urllib.parse import urljoin, urlsplit

import typer

from deploy import output
from deploy.errors import StackError
from deploy.stack.django import connect_django
from deploy.stack.home import Home, default_home
from deploy.stack.runtime import read_runtime
from inventory.explain.formatting import counted_text

Name = Annotated[str, typer.Argument(metavar="NAME", help="User name.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Roles = Annotated[
    list[str] | None, typer.Option("--role", help="Role. Repeat the option for several.")
]
Stores = Annotated[
    list[str] | None, typer.Option("--store", help="Location. Repeat the option for several.")
]
Regions = Annotated[
    list[str] | None, typer.Option("--region", help="Region. Repeat the option for several.")
]
Everywhere = Annotated[bool, typer.Option("--everywhere", help="All locations.")]
Address = Annotated[
    str, typer.Option("--url", help="Address of the pages for the link, like https://shop.example.")
]
_LOCAL: Final = "http://127.0.0.1:8080"
_COLUMNS: Final = (
    *("name", "state", "roles", "works in", "second factor"),
    *("last login", "invited until"),
)

people = typer.Typer(help="Accounts with their roles and stores.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.add_typer(people, name="people")


def _accounts() -> Any:  # noqa: ANN401 -- a module that needs Django set up
    connect_django()
    from webui.accounts import people as accounts  # noqa: PLC0415 -- needs Django set up

    return accounts


@people.command("list")
def list_people(*, json: Json = False) -> None:
    """List all accounts with roles, stores and state."""
    connect_django()
    from webui.accounts.person import all_people  # noqa: PLC0415 -- needs Django set up

    found = all_people()
    if json:
        output.as_json([asdict(person) for person in found])
        return
    rows = [
        (
            person.name,
            "active" if person.is_active else "disabled",
            ", ".join(person.roles),
            person.places.text,
            person.second_factor,
            person.last_login,
            person.invited_until,
        )
        for person in found
    ]
    output.table(counted_text(len(rows), "person", "people"), _COLUMNS, rows)


@people.command()
def add(
    name: Name,
    *,
    role: Roles = None,
    store: Stores = None,
    region: Regions = None,
    everywhere: Everywhere = False,
    service: Annotated[
        bool,
        typer.Option(
            "--service", help="Create an account for a program: it has tokens and can't log in."
        ),
    ] = False,
    url: Address = "",
) -> None:
    """Create an account, and print a link with which the person sets their password.

    An associate or a manager needs --store, --region or --everywhere. All other roles apply to all
    locations, unless you give stores or regions. An account with --service has no link; `inventory
    people token` gives it a token.
    """
    _refuse_address(url)
    accounts = _accounts()
    from ledger.people import STORE_ROLES  # noqa: PLC0415 -- needs Django set up

    is_company = bool(role) and not STORE_ROLES & set(role or ())
    places = _places(store, region, everywhere=everywhere or (is_company and not (store or region)))
    if service:
        accounts.add_service(name=name, roles=role or (), places=places, actor=_me())
        command = f"inventory people token {shlex.quote(name)}"
        output.console.print(f"{name} was added; `{command}` creates a token")
        return
    _print_link(accounts.add_person(name=name, roles=role or (), places=places, actor=_me()), url)


@people.command()
def invite(name: Name, *, url: Address = "") -> None:
    """Print a new link for setting a password. An earlier link becomes invalid."""
    _refuse_address(url)
    _print_link(_accounts().invite_person(name=name, actor=_me()), url)


@people.command()
def disable(name: Name) -> None:
    """Disable an account: its sessions end, and the person can't log in."""
    _accounts().disable_person(name=name, actor=_me())
    output.console.print(f"{name} is disabled; sessions have ended, and open pages end within 5 s")


@people.command()
def enable(name: Name) -> None:
    """Let a disabled person log in again."""
    _accounts().enable_person(name=name, actor=_me())
    output.console.print(f"{name} may log in again")


@people.command()
def roles(name: Name, *, role: Roles = None) -> None:
    """Replace a person's roles."""
    _accounts().set_roles(name=name, roles=role or (), actor=_me())
    output.console.print(f"{name}: {', '.join(role or ())}")


@people.command()
def stores(
    name: Name,
    *,
    store: Stores = None,
    region: Regions = None,
    everywhere: Everywhere = False,
    none: Annotated[bool, typer.Option("--none", help="No location.")] = False,
) -> None:
    """Replace the stores and regions in which a person works."""
    accounts = _accounts()
    if none is bool(store or region or everywhere):
        message = (
            "stores: expected --store, --region or --everywhere, or --none alone; "
            f"the locations of {name} are unchanged"
        )
        raise StackError(message, repair="inventory people stores --help")
    places = _places(store, region, everywhere=everywhere)
    accounts.set_store_access(name=name, places=places, actor=_me())
    output.console.print(f"{name}: {places.text}")


@people.command()
def password(
    name: Name,
    *,
    generate: Annotated[
        bool, typer.Option("--generate", help="Generate a password and print it once.")
    ] = False,
) -> None:
    """Set a password: type it twice, send one line on standard input, or use --generate."""
    accounts = _accounts()
    import secrets  # noqa: PLC0415 -- this verb only

    chosen = secrets.token_urlsafe(18) if generate else _typed_password(name)
    accounts.set_password(name=name, password=chosen, actor=_me())
    if generate:
        output.plain(chosen)
    output.errors.print(f"the password of {name} is set; former sessions have ended")


@people.command("reset-second-factor")
def reset_second_factor(name: Name) -> None:
    """Remove a person's authenticator, for example if their phone is lost.

    If the person's roles need an authenticator, the next login sets up a new one.
    """
    had_one = _accounts().reset_second_factor(name=name, actor=_me())
    found = "was removed" if had_one else "was not set up; nothing was removed"
    output.console.print(f"the authenticator of {name} {found}")


@people.command()
def sessions(name: Name, *, json: Json = False) -> None:
    """List a person's sessions: browser, source, start and last use."""
    found = _accounts().sessions_of(name)
    if json:
        output.as_json([asdict(session) for session in found])
        return
    rows = [(each.browser, each.source, each.began_at, each.used_at) for each in found]
    title = f"{counted_text(len(rows), 'session')} of {name}"
    output.table(title, ("browser", "source", "began", "last used"), rows)


@people.command("end-sessions")
def end_sessions(name: Name) -> None:
    """End all sessions and tokens of an account. The password stays valid."""
    ended = _accounts().end_sessions_of(name=name, actor=_me())
    output.console.print(
        f"{counted_text(ended, f'session of {name} has', f'sessions of {name} have')} ended; "
        "all tokens have ended, too; the person may log in again"
    )


@people.command()
def token(
    name: Name,
    *,
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", help="Scope, like needs:read. Repeat the option for several."),
    ] = None,
    days: Annotated[
        int, typer.Option("--days", help="Days until the token expires, 1 to 365.")
    ] = 90,
    label: Annotated[
        str, typer.Option("--label", help="Name of the token, at most 60 characters.")
    ] = "command line",
) -> None:
    """Create a token of the HTTP API and print it. No other command shows its text again."""
    new = _accounts().create_token_of(
        name=name, token=label, scopes=scope or (), days=days, actor=_me()
    )
    output.plain(new.token)
    output.errors.print(
        f"token {new.id} of {name} has the scopes {', '.join(new.scopes)} and expires at "
        f"{new.expires_at:%Y-%m-%d %H:%M} UTC; copy its text now: no command shows it again"
    )


@people.command()
def tokens(name: Name, *, json: Json = False) -> None:
    """List a person's tokens of the HTTP API, without their texts."""
    found = _accounts().tokens_of_person(name)
    if json:
        output.as_json([asdict(each) for each in found])
        return
    rows = [
        (
            each.id,
            each.name,
            "valid" if each.is_valid else "ended",
            ", ".join(each.scopes),
            each.expires_at,
            each.used_at,
        )
        for each in found
    ]
    columns = ("number", "name", "state", "scopes", "expires", "last used")
    output.table(f"{counted_text(len(rows), 'token')} of {name}", columns, rows)


@people.command("end-token")
def end_token(
    name: Name,
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="Number of the token.")],
) -> None:
    """End a token of the HTTP API now."""
    if not _accounts().end_token_of(name=name, number=number, actor=_me()):
        message = f"{name} has no valid token {number}; nothing was changed"
        raise StackError(message, repair=f"inventory people tokens {shlex.quote(name)}")
    output.console.print(f"token {number} of {name} has ended")


@people.command()
def region(
    location: Annotated[
        str, typer.Argument(metavar="LOCATION", help="Code of a store or warehouse.")
    ],
    code: Annotated[str, typer.Argument(metavar="REGION", help="Code of the region.")],
) -> None:
    """Put a location into a region."""
    _accounts().set_region(location=location, region=code, actor=_me())
    output.console.print(f"{location} is in region {code}")


def _me() -> str:
    return f"command line: {getuser()}"


def _places(
    store: list[str] | None,
    region: list[str] | None,
    *,
    everywhere: bool,
) -> Any:  # noqa: ANN401 -- its class is imported late
    from webui.accounts.person import StoreAccess  # noqa: PLC0415 -- needs Django set up

    return StoreAccess(everywhere, tuple(store or ()), tuple(region or ()))


def _typed_password(name: str) -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    first = getpass("Password: ")
    if getpass("Password again: ") != first:
        message = "the two passwords differ; none was set"
        raise StackError(message, repair=f"inventory people password {shlex.quote(name)}")
    return first


def _refuse_address(url: str) -> None:
    """Raise `StackError` if `url` is neither empty nor an address like `https://shop.example`."""
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if url and not (parts.scheme in ("http", "https") and parts.netloc):
        message = (
            f"--url {url!r}: expected an address like https://shop.example; nothing was changed"
        )
        raise StackError(message)


def _print_link(invitation: Any, url: str) -> None:  # noqa: ANN401 -- its class is imported late
    """Print the link of an invitation on standard output, and its explanation on standard error.

    So a program can read the link and pass it on.
    """
    output.plain(urljoin(url or _web_address(), invitation.path))
    output.errors.print(
        f"{invitation.name} can set a password with this link once,"
        f" until {invitation.expires_at:%Y-%m-%d %H:%M} UTC"
    )


def _web_address() -> str:
    web = read_runtime(Home(default_home())).services.get("web")
    return (web.url if web else None) or _LOCAL
