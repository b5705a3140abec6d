"""Output of the subcommands that compare and switch logic revisions."""

from typing import TYPE_CHECKING, Any

from deploy import output

if TYPE_CHECKING:
    from deploy.revisions.promote import SwitchRequest


def show_switch(settings: Any, request: "SwitchRequest", *, json: bool) -> None:  # noqa: ANN401 -- its class is late
    """Compare the requested revision with the deciding one, switch, and print the comparison."""
    from deploy.revisions.promote import promote as switch  # noqa: PLC0415 -- reads topics

    found = switch(settings, request, report=output.errors.print)
    report = {"revision": request.revision} if found is None else found.as_json()
    show_comparison(report, json=json)
    if not json:
        output.console.print(f"logic revision {request.revision} decides now")


def show_comparison(report: dict[str, Any], *, json: bool) -> None:
    """Print a comparison, its differences, and the invalid records in the topics of decisions."""
    if json:
        output.as_json(report)
        return
    differences = report.pop("differences", [])
    refused = report.pop("refused_records", [])
    report.pop("barrier", None)
    report |= {f"states, {name}": said for name, said in report.pop("states", {}).items()}
    output.table("", ("what", "value"), list(report.items()))
    if differences:
        rows = [
            (d["kind"], d["inv_key"], d["how"], ", ".join(d["fields"]), d["former"], d["fresh"])
            for d in differences
        ]
        output.table("", ("kind", "key", "how", "differs in", "former", "new"), rows)
    if refused:
        output.table(
            "Records that are no decisions", ("position and reason",), [(r,) for r in refused]
        )
