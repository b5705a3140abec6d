"""`inventory bench hot`: let many clients sell one item, on the stack of INVENTORY_HOME."""

from typing import Annotated, Final

import typer
from pydantic import SecretStr

from deploy import output
from deploy.cli import option_checks
from deploy.errors import StackError
from deploy.stack.home import Home, default_home
from deploy.stack.runtime import environment_of, load_environment
from deploy.stack.services.postgres_programs import packaged

_OWNER: Final = "INVENTORY_OWNER_DATABASE_URL"


def bench_hot(
    *,
    clients: Annotated[int, typer.Option(help="Number of clients that sell at once.")] = 32,
    seconds: Annotated[int, typer.Option(help="Seconds of each measurement.")] = 20,
    items: Annotated[
        str,
        typer.Option(
            help="Numbers of different items: 1,10000 measures one item, then 10000 items. Each "
            "number is measured twice on the stack, and twice on a table whose trigger updates "
            "the stock."
        ),
    ] = "1,10000",
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Let many clients sell the same items, on this stack and on a table with a trigger.

    The trigger updates the stock of the sold item in the transaction of the sale. The stack of this
    machine must be running. The sold lines stay in the stack, at locations BENCH-….
    """
    option_checks.check_int("--clients", clients)
    option_checks.check_int("--seconds", seconds)
    chosen = option_checks.parse_ints("--items", items, "1,10000")
    load_environment()
    from bench import hot  # noqa: PLC0415 -- reads the environment
    from cdc.settings import Connections  # noqa: PLC0415 -- as above

    owner = environment_of(Home(default_home())).get(_OWNER, "")
    if not owner:
        message = f"{_OWNER} is unknown: this bench needs a stack that `inventory up` started here"
        raise StackError(message, repair="inventory up --detach")
    settings = Connections(owner_database_url=SecretStr(owner))
    plan = hot.Plan(packaged() / "pgbench", clients, seconds, chosen)
    report = hot.run(plan, settings, progress=output.errors.print)
    output.report(report, in_json=json)
