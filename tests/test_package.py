import ast
import inspect
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from poetry.core.masonry.api import build_sdist, build_wheel

import orchestrator
from orchestrator import errors
from orchestrator.cli.new_pipeline import TEMPLATE
from orchestrator.gateway.http.page import routes
from orchestrator.gateway.http.page.texts import LANGUAGES
from orchestrator.system.distribution import NAME, read_version
from orchestrator.system.toml_files import tomllib
from tests.docs.blocks import PAGES
from tests.samples import PROJECT

BROUGHT = {
    "anyio": "starlette",
    "grpc": "tritonclient[grpc]",
    "supervision": "the user, who calls to_supervision",
    "triton_python_backend_utils": "Triton's Python backend",
    "typing_extensions": "type checkers",
    "yarl": "aiohttp, which takes addresses as its URLs",
    "zeep": "onvif-zeep-async, whose calls raise its errors",
}
"""Imported packages that are no dependencies of ours, and who brings them."""
OURS = re.compile(r"pip install[^`\n]*?[\s'\"](orchestrator|plates(?:-orchestrator)?)(?![\w/-]| @)")
"""A command that would take a package of one of these names from an index."""


@pytest.mark.parametrize("name", orchestrator.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(orchestrator, name).__name__ == name


def test_editors_are_offered_every_public_name() -> None:
    code = "import orchestrator; print(set(orchestrator.__all__) - set(dir(orchestrator)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_every_name_that_a_type_checker_sees_is_public() -> None:
    tree = ast.parse(Path(orchestrator.__file__).read_text())
    (for_checkers,) = (node for node in tree.body if isinstance(node, ast.If))
    names = {alias.name for node in for_checkers.body for alias in node.names}
    assert names == set(orchestrator.__all__)


def test_every_error_is_public() -> None:
    names = {name for name, _ in inspect.getmembers(errors, inspect.isclass)}
    assert names <= set(orchestrator.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Missing'"):
        orchestrator.Missing  # noqa: B018


def test_what_is_heavy_is_imported_when_it_is_needed() -> None:
    code = """
import sys, orchestrator.cli.recognize, workshop.reporting.plots
orchestrator.PlateClient
print({"torch", "PIL", "cv2", "pandas", "matplotlib"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return the names of the files in a wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(PROJECT)
        name = build_wheel(str(folder))
    with zipfile.ZipFile(folder / name) as wheel:
        return {*wheel.namelist()}


def test_a_wheel_holds_the_product_and_the_template_alone(files: set[str]) -> None:
    information = f"{NAME.replace('-', '_')}-{read_version()}.dist-info"
    assert {file.split("/")[0] for file in files} == {"orchestrator", information}
    assert {"orchestrator/formats/countries/russia/formats.toml", "orchestrator/py.typed"} <= files
    template = {str(file.relative_to(PROJECT)) for file in TEMPLATE.rglob("*") if file.is_file()}
    assert {file for file in files if "/cli/pipeline/" in file} == template


def test_a_wheel_holds_the_page(files: set[str]) -> None:
    shipped = {*routes.FILES, "page.html", *(f"{language}.toml" for language in LANGUAGES)}
    assert {f"orchestrator/gateway/http/page/{name}" for name in shipped} <= files


def test_a_source_distribution_holds_the_product_and_its_licence(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(PROJECT)
    with tarfile.open(tmp_path / build_sdist(str(tmp_path))) as archive:
        parts = {tuple(name.split("/")[:2]) for name in archive.getnames()}
    folder = f"{NAME.replace('-', '_')}-{read_version()}"
    files = {"LICENSE", "PKG-INFO", "README.md", "orchestrator", "pyproject.toml"}
    assert parts == {(folder, file) for file in files}


def test_the_installed_package_is_that_of_the_project() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert (project["name"], project["version"]) == (NAME, read_version())


def _to_key(distribution: str) -> str:
    """Return a distribution's name as packages compare it (PEP 503)."""
    return distribution.replace("-", "_").lower()


def test_every_imported_package_is_a_dependency() -> None:
    needed = {_to_key(re.split(r"[^\w.-]", line)[0]) for line in metadata.requires(NAME) or ()}
    distributions = metadata.packages_distributions()
    unknown = {
        package
        for package in imported_packages()
        if not needed & {_to_key(name) for name in distributions.get(package, [package])}
    }
    assert unknown == {*BROUGHT}


def imported_packages() -> Iterator[str]:
    """Yield the packages that the product imports, other than Python's and its own."""
    for file in (PROJECT / "orchestrator").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [str(node.module)]
            packages = {name.partition(".")[0] for name in names}
            yield from packages - sys.stdlib_module_names - {"orchestrator"}


def test_no_page_and_no_message_installs_a_package_that_only_has_our_name() -> None:
    files = [*PAGES, *(PROJECT / "orchestrator").rglob("*.py")]
    assert [str(file) for file in files if OURS.search(file.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("command", "is_taken"),
    [
        ("pip install orchestrator", ["orchestrator"]),
        ("pip install -U 'orchestrator[server]'", ["orchestrator"]),
        ("pip install plates", ["plates"]),
        ("pip install plates-orchestrator", ["plates-orchestrator"]),
        ("pip install -e '.[server]'", []),
        ("pip install dist/plates_orchestrator-1.0.0-py3-none-any.whl", []),
        ("pip install 'plates-orchestrator @ git+https://example.com/plates'", []),
    ],
)
def test_commands_that_ask_an_index_for_us_are_found(command: str, is_taken: list[str]) -> None:
    assert OURS.findall(command) == is_taken
