"""`inventory bench peers`: run one job in several stream engines, on separate services."""

from typing import TYPE_CHECKING, Annotated

import typer

from deploy import output
from deploy.cli import option_checks
from deploy.errors import StackError

if TYPE_CHECKING:
    from bench.peers.peer import Peer

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def bench_peers(
    *,
    records: Annotated[
        int, typer.Option(help="Number of sale lines in the input topic.")
    ] = 1_000_000,
    keys: Annotated[
        int, typer.Option(help="Number of keys; their popularity follows Zipf's law.")
    ] = 100_000,
    peers: Annotated[
        str, typer.Option(help="Names of engines, separated by commas, or all.")
    ] = "all",
    rounds: Annotated[
        int, typer.Option(help="Rounds over all engines; every second round in reverse order.")
    ] = 2,
    timeout: Annotated[float, typer.Option(help="Time limit of one run in seconds.")] = 900.0,
    json: Json = False,
) -> None:
    """Run the same job in several engines. Compare their outputs, time, CPU and memory."""
    chosen = _chosen(peers)
    for name, number in (("records", records), ("keys", keys), ("rounds", rounds)):
        option_checks.check_int(f"--{name}", number)
    option_checks.check_seconds("--timeout", timeout, least=1)
    from bench.peers.run import Plan, run  # noqa: PLC0415 -- loads clients, numpy and trading code
    from deploy.peers import environments, services  # noqa: PLC0415 -- only this command needs them

    progress = output.errors.print
    made = environments.make((peer.environment for peer in chosen), progress)
    needs_postgres = any(peer.name == "sql" for peer in chosen)
    with services.running(made, with_postgres=needs_postgres) as (running, scratch):
        plan = Plan(records, keys, chosen, rounds, timeout)
        report = run(plan, running, scratch, progress)
    if json:
        output.as_json(report.as_json())
        return
    output.plain(report.as_text())


def _chosen(text: str) -> "list[Peer]":
    from bench.peers.catalogue import BY_NAME, PEERS  # noqa: PLC0415 -- loads clients

    if text == "all":
        return list(PEERS)
    names = text.split(",")
    unknown = [name for name in names if name not in BY_NAME]
    if unknown:
        message = (
            f"--peers {unknown[0]!r}: expected 'all', or names from this list with commas between "
            f"them: {', '.join(BY_NAME)}"
        )
        raise StackError(message)
    return [BY_NAME[name] for name in names]
