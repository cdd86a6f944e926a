"""The sections of docstrings name the fields and parameters that the code has."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.samples import PROJECT

FOLDERS = ("orchestrator", "plate_cameras", "workshop", "tests", "examples", "scripts", "deploy")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def read_sources() -> Iterator[tuple[Path, ast.Module]]:
    """Yield the Python files of the project, parsed."""
    for folder in FOLDERS:
        for file in sorted((PROJECT / folder).rglob("*.py")):
            yield file.relative_to(PROJECT), ast.parse(file.read_text("utf-8"))


def entries(node: ast.AST, section: str) -> set[str]:
    """Return the names in a section of a docstring; empty without the section."""
    text = (ast.get_docstring(node) or "") + "\n"  # type: ignore[arg-type]
    found = re.search(rf"^{section}:\n((?:    .*\n|\n)*)", text, re.MULTILINE)
    heads = (
        re.findall(r"^    (\*{0,2}\w+(?:, \*{0,2}\w+)*):", found[1], re.MULTILINE) if found else []
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


def find_unknown(file: Path, module: ast.Module, bases: dict[str, set[str]]) -> Iterator[str]:
    """Yield the entries of docstrings that name no field and no parameter."""
    for node in ast.walk(module):
        known: set[str] = set()
        if isinstance(node, ast.ClassDef):
            known = names_of(node).union(*(bases.get(base, set()) for base in base_names(node)))
            known |= {name for part in node.body if isinstance(part, Function)
                      for name in parameters_of(part)}  # fmt: skip
        elif isinstance(node, Function):
            known = parameters_of(node)
        else:
            continue
        section = entries(node, "Args") | entries(node, "Attributes")
        yield from (f"{file}: {node.name}: {name}" for name in sorted(section - known))


def base_names(class_: ast.ClassDef) -> set[str]:
    """Return the names of all classes among the bases of a class, and in their arguments."""
    return {
        node.id for base in class_.bases for node in ast.walk(base) if isinstance(node, ast.Name)
    }


@pytest.fixture(scope="module")
def sources() -> list[tuple[Path, ast.Module]]:
    """The Python files of the project, parsed."""
    return list(read_sources())


def test_every_entry_of_a_section_is_a_field_or_a_parameter(
    sources: list[tuple[Path, ast.Module]],
) -> None:
    classes = [node for _, module in sources for node in ast.walk(module)
               if isinstance(node, ast.ClassDef)]  # fmt: skip
    bases = {class_.name: names_of(class_) for class_ in classes}
    unknown = [entry for file, module in sources for entry in find_unknown(file, module, bases)]
    assert not unknown


def test_an_entry_without_a_field_is_found() -> None:
    module = ast.parse(
        'class Pass:\n    """A pass.\n\n    Attributes:\n        text, plate: Texts.\n    """\n'
        "    text: str\n"
    )
    assert list(find_unknown(Path("passes.py"), module, {})) == ["passes.py: Pass: plate"]


def test_an_entry_without_a_parameter_is_found() -> None:
    module = ast.parse(
        'def read(text: str) -> None:\n    """Read.\n\n    Args:\n        texts: All.\n    """\n'
    )
    assert list(find_unknown(Path("passes.py"), module, {})) == ["passes.py: read: texts"]
