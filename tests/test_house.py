"""The house rules that can be counted: names, splats, and sizes of folders and modules."""

import ast
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import OF_A_SERVER, SHARING
from tests.samples import PROJECT

PACKAGES = ("orchestrator", "plate_cameras", "workshop", "tests", "scripts", "examples", "deploy")
MAX_FILES = 20
MAX_LINES = 300
LIMITS_WITHOUT_MAX_OR_MIN = ("MOST", "LEAST", "LONGEST", "SHORTEST", "FEWEST", "LARGEST")
NO_NOUNS = {"one", "ones", "found", "given", "told", "wanted"}
PUBLISHED = Counter(found=3, wanted=4)
"""Fields of published reports and tables that have such a name; nothing else may have one."""


def modules(package: str) -> list[Path]:
    return sorted((PROJECT / package).rglob("*.py"))


def bound_name(node: ast.AST) -> str:
    """Return the name that a node binds: a variable, a field or a parameter."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    return node.arg if isinstance(node, ast.arg) else ""


def is_literal_splat(node: ast.AST) -> bool:
    """Tell whether a node is `*("a", "b")`, whose elements could stand without it."""
    return isinstance(node, ast.Starred) and isinstance(node.value, (ast.Tuple, ast.List, ast.Set))


@dataclass
class Names:
    """Counts of names and splats in the modules of a package."""

    limits: list[str] = field(default_factory=list)
    splats: list[str] = field(default_factory=list)
    no_nouns: Counter[str] = field(default_factory=Counter)

    def add(self, path: Path, node: ast.AST) -> None:
        name = bound_name(node)
        if name.lstrip("_").split("_")[0] in LIMITS_WITHOUT_MAX_OR_MIN:
            self.limits.append(f"{path}: {name}")
        if name in NO_NOUNS:
            self.no_nouns[name] += 1
        if is_literal_splat(node):
            self.splats.append(f"{path}: {ast.unparse(node)}")


@cache
def names_in(package: str) -> Names:
    names = Names()
    for path in modules(package):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, (ast.Name, ast.arg, ast.Starred)):
                names.add(path, node)
    return names


@pytest.mark.parametrize("package", PACKAGES)
def test_limits_are_called_max_and_min(package: str) -> None:
    assert names_in(package).limits == []


@pytest.mark.parametrize("package", PACKAGES)
def test_elements_stand_without_splats(package: str) -> None:
    assert names_in(package).splats == []


@pytest.mark.parametrize("package", PACKAGES)
def test_variables_have_nouns(package: str) -> None:
    allowed = PUBLISHED if package == "workshop" else Counter[str]()
    assert names_in(package).no_nouns - allowed == Counter()


@pytest.mark.parametrize("package", PACKAGES)
def test_folders_are_divided_before_they_are_full(package: str) -> None:
    """A package's file and its command are no modules to look through."""
    listed = (path for path in modules(package) if path.stem not in ("__init__", "__main__"))
    counts = Counter(str(path.parent.relative_to(PROJECT)) for path in listed)
    assert {folder: count for folder, count in counts.items() if count > MAX_FILES} == {}


@pytest.mark.parametrize("package", [package for package in PACKAGES if package != "scripts"])
def test_modules_are_split_before_they_are_long(package: str) -> None:
    """The installer is one file: it runs before anything is installed."""
    lines = {
        str(path.relative_to(PROJECT)): path.read_text().count("\n") for path in modules(package)
    }
    assert {module: count for module, count in lines.items() if count > MAX_LINES} == {}


@pytest.mark.parametrize("beginning", SHARING)
def test_a_group_of_shared_fixtures_has_files_to_share_them(beginning: str) -> None:
    files = [str(path.relative_to(PROJECT)) for path in modules("tests")]
    assert sum(name.startswith(beginning) for name in files) > 1


@pytest.mark.parametrize("folder", sorted(OF_A_SERVER))
def test_folders_of_server_tests_are_there(folder: str) -> None:
    assert list((PROJECT / "tests" / folder).rglob("test_*.py"))
