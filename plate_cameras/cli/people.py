"""The command `plates people`."""

from __future__ import annotations

import sys
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.commands import SuggestingGroup
from orchestrator.cli.flags import show_errors
from plate_cameras.cli.camera_stores import open_camera_store, requester_of

if TYPE_CHECKING:
    from plate_cameras.store.pass_store import PassStore
    from plate_cameras.store.people.people import Person

# Heavy modules are imported when the command runs, so that --help is quick.

people = typer.Typer(
    cls=SuggestingGroup,
    add_completion=False,
    no_args_is_help=True,
    help="Add, list and remove the people who may log in to the control room.",
)


class RoleName(str, Enum):
    """Roles, each of which includes those before it."""

    VIEWER = "viewer"
    EDITOR = "editor"
    ADMINISTRATOR = "administrator"


StoreArgument = Annotated[
    Path, typer.Argument(metavar="STORE", help="The file CAMERAS.toml, or the folder of --out.")
]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The person's name.")]


@people.command()
def add(
    path: StoreArgument,
    name: NameArgument,
    *,
    role: Annotated[
        RoleName, typer.Option(help="What the person may do: docs/control-room.md.")
    ] = RoleName.VIEWER,
    group: Annotated[
        list[str] | None, typer.Option(help="Only cameras of this group; repeatable.")
    ] = None,
) -> None:
    """Add a person. The password is asked for, or is one line of standard input."""
    with show_errors(verbose=False), open_camera_store(path) as store:
        from plate_cameras.store.people.people import Person

        person = Person(name, role.value, tuple(group or ()))
        store.people.add(person, _hash_new_password(name), requester_of("plates people"))
        typer.echo(f"{name} may log in as {role.value}", err=True)


@people.command("list")
def list_people(path: StoreArgument) -> None:
    """List people with their roles and groups."""
    with show_errors(verbose=False), open_camera_store(path) as store:
        from plate_cameras.store.scope import EVERYTHING

        for person in store.people.all(EVERYTHING):
            groups = ", ".join(person.groups) or "all cameras"
            state = "  disabled" if person.is_disabled else ""
            typer.echo(f"{person.name:<20}  {person.role:<13}  {groups}{state}")


@people.command()
def remove(path: StoreArgument, name: NameArgument) -> None:
    """Remove a person. Open sessions end at once."""
    with show_errors(verbose=False), open_camera_store(path) as store:
        store.people.remove(name, requester_of("plates people"))
        typer.echo(f"{name} is removed", err=True)
        _warn_without_administrator(store)


@people.command()
def disable(
    path: StoreArgument,
    name: NameArgument,
    *,
    undo: Annotated[bool, typer.Option("--undo", help="Let the person log in again.")] = False,
) -> None:
    """Let a person log in no more. Open sessions end at once."""
    with show_errors(verbose=False), open_camera_store(path) as store:
        person = replace(_find(store, name), is_disabled=not undo)
        store.people.change(person, requester_of("plates people"))
        typer.echo(f"{name} may {'' if undo else 'not '}log in", err=True)
        _warn_without_administrator(store)


@people.command()
def password(path: StoreArgument, name: NameArgument) -> None:
    """Give a person another password. Open sessions end at once."""
    with show_errors(verbose=False), open_camera_store(path) as store:
        person = _find(store, name)
        store.people.change(
            person, requester_of("plates people"), password_hash=_hash_new_password(name)
        )
        typer.echo(f"{name} has another password", err=True)


def _find(store: PassStore, name: str) -> Person:
    from plate_cameras.store.errors import UnknownName

    stored_person = store.people.find(name)
    if stored_person is None:
        raise UnknownName(f"there is no person {name!r}")
    return stored_person.person


def _hash_new_password(name: str) -> str:
    """Ask for a password twice, or read one line of standard input; return its hash."""
    from plate_cameras.control_room.access.passwords import check_password, hash_password

    if sys.stdin.isatty():
        text: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True)
    else:
        text = sys.stdin.readline().rstrip("\r\n")
    check_password(text, name)
    return hash_password(text)


def _warn_without_administrator(store: PassStore) -> None:
    from plate_cameras.store.scope import EVERYTHING

    if not any(person.administers_all for person in store.people.all(EVERYTHING)):
        typer.echo("nobody can administer all cameras now: plates people add", err=True)
