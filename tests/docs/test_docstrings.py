"""The sections of docstrings name the fields and parameters that the code has."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.samples import PROJECT

FOLDERS = ("orchestrator", "plate_cameras", "workshop", "tests", "examples", "scripts", "deploy")
Function = ast.FunctionDef | ast.AsyncFunctionDef


CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
SECTION = re.compile(r"^ +(?:Args|Attributes):$", re.MULTILINE)


@cache
def read_sources() -> dict[Path, str]:
    """Return the text of each Python file of the project."""
    files = (file for folder in FOLDERS for file in sorted((PROJECT / folder).rglob("*.py")))
    return {file.relative_to(PROJECT): file.read_text("utf-8") for file in files}


parse = cache(ast.parse)


@cache
def texts_of_classes() -> dict[str, list[str]]:
    """Return the texts of the files that define each class."""
    texts: dict[str, list[str]] = {}
    for text in read_sources().values():
        for name in CLASS.findall(text):
            texts.setdefault(name, []).append(text)
    return texts


@cache
def names_of_class(name: str) -> set[str]:
    """Return the names that the classes of a name define, in whichever file."""
    return {
        defined
        for text in texts_of_classes().get(name, [])
        for node in parse(text).body
        if isinstance(node, ast.ClassDef) and node.name == name
        for defined in names_of(node)
    }


def entries(node: ast.AST, section: str) -> set[str]:
    """Return the names in a section of a docstring; empty without the section."""
    text = (ast.get_docstring(node) or "") + "\n"  # type: ignore[arg-type]
    section_match = re.search(rf"^{section}:\n((?:    .*\n|\n)*)", text, re.MULTILINE)
    heads = (
        re.findall(r"^    (\*{0,2}\w+(?:, \*{0,2}\w+)*):", section_match[1], re.MULTILINE)
        if section_match
        else []
    )
    return {name.lstrip("*") for head in heads for name in head.split(", ")}


def names_of(class_: ast.ClassDef) -> set[str]:
    """Return the names that a class defines: fields, methods, and attributes of `self`."""
    names = set()
    for node in ast.walk(class_):
        if isinstance(node, Function):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
    return names


def parameters_of(function: Function) -> set[str]:
    """Return the names of a function's parameters."""
    return {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}


def find_unknown(file: Path, module: ast.Module) -> Iterator[str]:
    """Yield the entries of docstrings that name no field and no parameter."""
    for node in ast.walk(module):
        if not isinstance(node, (ast.ClassDef, Function)):
            continue
        section = entries(node, "Args") | entries(node, "Attributes")
        if section:
            known_names = known_to(node)
            yield from (f"{file}: {node.name}: {name}" for name in sorted(section - known_names))


def known_to(node: ast.ClassDef | Function) -> set[str]:
    """Return the names that the sections of a docstring may have."""
    if isinstance(node, Function):
        return parameters_of(node)
    functions = (part for part in node.body if isinstance(part, Function))
    return names_of(node).union(
        *(parameters_of(function) for function in functions),
        *(names_of_class(base) for base in base_names(node)),
    )


def base_names(class_: ast.ClassDef) -> set[str]:
    """Return the names of all classes among the bases of a class, and in their arguments."""
    return {
        node.id for base in class_.bases for node in ast.walk(base) if isinstance(node, ast.Name)
    }


def test_every_entry_of_a_section_is_a_field_or_a_parameter() -> None:
    unknown = [
        entry
        for file, text in read_sources().items()
        if SECTION.search(text)
        for entry in find_unknown(file, parse(text))
    ]
    assert not unknown


def test_an_entry_without_a_field_is_found() -> None:
    module = ast.parse(
        'class Pass:\n    """A pass.\n\n    Attributes:\n        text, plate: Texts.\n    """\n'
        "    text: str\n"
    )
    assert list(find_unknown(Path("passes.py"), module)) == ["passes.py: Pass: plate"]
