"""Options that are fields of dataclasses: `threads: Annotated[int, typer.Option(min=0)] = 0`.

The field is the whole declaration of an option: the command line, the check of its range and its
row in the docs follow from it. A field without `typer.Option` is no option of a command.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, wraps
from math import inf
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from typer.models import OptionInfo

from orchestrator.host.toml_files import check_range


@cache
def declared(kind: Any) -> Mapping[str, OptionInfo]:
    """Return what the fields of a dataclass declare, by the field's name."""
    return {
        name: info
        for name, metadata in _metadata(kind).items()
        for info in metadata
        if isinstance(info, OptionInfo)
    }


@cache
def _metadata(kind: Any) -> Mapping[str, tuple[Any, ...]]:
    """Return what the annotation of each field holds beside the type."""
    hints = get_type_hints(kind, include_extras=True)
    annotations = {field.name: hints[field.name] for field in fields(kind)}
    return {
        name: get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        for name, hint in annotations.items()
    }


def check_ranges(options: Any) -> None:
    """Check every field that declares a range, and is not None.

    Raises:
        SettingsError: A value is out of its range.
    """
    kind: Any = type(options)
    for name, info in declared(kind).items():
        value = getattr(options, name)
        if value is not None and (info.min, info.max) != (None, None):
            minimum = -inf if info.min is None else info.min
            maximum = inf if info.max is None else info.max
            check_range(name, value, minimum, maximum)


def expand(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command for typer: each parameter that is a dataclass becomes that class's options.

    An option that is left out has the field's default.
    """
    hints: dict[str, Any] = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}

    @wraps(command)
    def run(**values: Any) -> None:
        for group, kind in groups.items():
            values[group] = _build(kind, {name: values.pop(name) for name in declared(kind)})
        command(**values)

    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            parameters += _parameters(groups[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name]))
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
    return run


def _build(kind: Any, values: Mapping[str, Any]) -> Any:
    """Build a dataclass from the values of typer, which has lists in place of tuples."""
    return kind(
        **{
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values.items()
            if value is not None
        }
    )


def _parameters(kind: Any) -> Iterator[inspect.Parameter]:
    """Yield a parameter for each option; an enumeration in the metadata names its choices."""
    hints, defaults = get_type_hints(kind), {field.name: field.default for field in fields(kind)}
    for name, info in declared(kind).items():
        hint, default = hints[name], defaults[name]
        if get_origin(hint) is tuple:
            hint, default = list[get_args(hint)[0]] | None, None  # type: ignore[misc]  # at run time
        choices = [*filter(inspect.isclass, _metadata(kind)[name])]
        yield inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default,
            annotation=Annotated[choices[0] if choices else hint, info],
        )


def to_rows(kind: type) -> str:
    """Return the options of a dataclass as rows of a table in Markdown: name, default and help."""
    defaults = {field.name: field.default for field in fields(kind)}
    return "".join(
        f"| `{name}` | {defaults[name]:.10g} | {info.help} |\n"
        for name, info in declared(kind).items()
    )
