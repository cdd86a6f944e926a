"""The command `plates doctor`."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestrator.cli.flags import show_errors

# Heavy modules are imported when the command runs, so that --help is quick.


def doctor(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Tell whether a server would start on this machine, what it would use, and what hinders it.

    No server is started. The text can be pasted into an issue: it names no user, no host and no
    home folder.

    Exit codes: 0 a server would start, 1 something hinders it.
    """
    with show_errors(verbose=False):
        from orchestrator.cli.doctor.diagnosis import diagnose
        from orchestrator.cli.doctor.report import to_json, to_text

        diagnosis = diagnose()
        typer.echo(to_json(diagnosis) if as_json else to_text(diagnosis))
    raise typer.Exit(0 if diagnosis.is_healthy else 1)
