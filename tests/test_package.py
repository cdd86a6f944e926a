import ast
import inspect
import re
import sys
import tarfile
import zipfile
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from poetry.core.masonry.api import build_sdist, build_wheel

import orchestrator
from orchestrator import errors
from orchestrator.cli.new_pipeline import TEMPLATE
from orchestrator.host.distribution import NAME, read_version
from orchestrator.host.toml_files import tomllib
from orchestrator.serving.gateway.http.page import routes
from orchestrator.serving.gateway.http.page.texts import LANGUAGES
from tests.child_python import run_python
from tests.docs.blocks import PAGES
from tests.samples import PROJECT

PROVIDERS = {
    "anyio": "starlette",
    "grpc": "tritonclient[grpc]",
    "supervision": "the user, who calls to_supervision",
    "triton_python_backend_utils": "Triton's Python backend",
    "typing_extensions": "type checkers",
}
"""Packages that the service imports, that are no dependencies of it, and who brings them."""
CAMERA_PROVIDERS = {
    "anyio": "starlette",
    "requests": "apprise, whose calls it makes",
    "typing_extensions": "SQLAlchemy and pydantic; a type checker alone reads it",
    "yarl": "aiohttp, which takes addresses as its URLs",
    "zeep": "onvif-zeep-async, whose calls raise its errors",
}
CAMERAS = PROJECT / "plate_cameras" / "pyproject.toml"
OURS = re.compile(r"pip install[^`\n]*?[\s'\"](orchestrator|plates(?:-orchestrator)?)(?![\w/-]| @)")
"""A command that would take a package of one of these names from an index."""


@pytest.mark.parametrize("name", orchestrator.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(orchestrator, name).__name__ == name


def test_editors_are_offered_every_public_name() -> None:
    code = "import orchestrator; print(set(orchestrator.__all__) - set(dir(orchestrator)))"
    process = run_python(code)
    assert process.stdout.strip() == "set()"


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
    process = run_python(code)
    assert process.stdout.strip() == "set()"


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
    names = {*routes.FILES, "page.html", *(f"{language}.toml" for language in LANGUAGES)}
    assert {f"orchestrator/serving/gateway/http/page/{name}" for name in names} <= files


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


def requirements_of(*projects: Path) -> set[str]:
    """Return the names of what the packages of some pyproject.toml files need, with all extras."""
    tables = [tomllib.loads(project.read_text())["project"] for project in projects]
    lines = [
        line
        for table in tables
        for lines in (table["dependencies"], *table["optional-dependencies"].values())
        for line in lines
    ]
    return {_to_key(re.split(r"[^\w.-]", line)[0]) for line in lines}


@pytest.mark.parametrize(
    ("package", "projects", "providers"),
    [
        pytest.param("orchestrator", [PROJECT / "pyproject.toml"], PROVIDERS, id="service"),
        pytest.param(
            "plate_cameras",
            [PROJECT / "pyproject.toml", CAMERAS],
            CAMERA_PROVIDERS,
            id="cameras",
        ),
    ],
)
def test_every_imported_package_is_a_dependency(
    package: str, projects: list[Path], providers: dict[str, str]
) -> None:
    requirements, distributions = requirements_of(*projects), installed_packages()
    unknown_packages = {
        package
        for package in imported_packages(package) - {"orchestrator", "plate_cameras"}
        if not requirements & {_to_key(name) for name in distributions.get(package, [package])}
    }
    assert unknown_packages == {*providers}


def test_the_service_never_names_the_cameras_package() -> None:
    files = [file for file in (PROJECT / "orchestrator").rglob("*") if file.suffix != ".pyc"]
    naming_files = [
        file for file in files if file.is_file() and b"plate_cameras" in file.read_bytes()
    ]
    assert naming_files == []


def test_the_service_needs_none_of_what_cameras_need() -> None:
    requirements = requirements_of(PROJECT / "pyproject.toml")
    assert not requirements & {"sqlalchemy", "alembic", "argon2_cffi", "av", "psycopg", "aiomqtt"}


def test_the_locked_groups_are_what_the_cameras_package_needs() -> None:
    project = tomllib.loads(CAMERAS.read_text())["project"]
    groups = tomllib.loads((PROJECT / "pyproject.toml").read_text())["dependency-groups"]
    service, *packages = project["dependencies"]
    assert service.startswith(f"{NAME}[server]>=")
    assert packages == groups["cameras"]
    optional = {name: groups[name] for name in ("gates", "excel", "notify", "s3")}
    assert project["optional-dependencies"] == optional


def test_both_packages_have_one_version() -> None:
    versions = [
        tomllib.loads(file.read_text())["project"]["version"]
        for file in (PROJECT / "pyproject.toml", CAMERAS)
    ]
    assert len({*versions}) == 1


def test_a_wheel_of_the_cameras_holds_their_package_alone(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(CAMERAS.parent)
    with zipfile.ZipFile(tmp_path / build_wheel(str(tmp_path))) as wheel:
        files = {*wheel.namelist()}
        (points,) = (name for name in files if name.endswith("/entry_points.txt"))
        entry_points = wheel.read(points).decode()
    assert {"plate_cameras/__init__.py", "plate_cameras/control_room/pages/ru.toml"} <= files
    assert "plate_cameras/pyproject.toml" not in files
    assert all(
        file.split("/")[0].startswith(("plate_cameras", "plates_cameras-")) for file in files
    )
    assert "watch=plate_cameras.cli.watch:watch" in entry_points.replace(" ", "")


installed_packages = cache(metadata.packages_distributions)


def imported_packages(package: str) -> set[str]:
    """Return the packages that a package imports, other than Python's."""
    packages = set[str]()
    for file in (PROJECT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [str(node.module)]
            packages |= {name.partition(".")[0] for name in names}
    return packages - sys.stdlib_module_names


PROGRAMS = [
    pytest.param(module.replace(".", "/"), needs.split(), id=target)
    for target, needs, recipe in re.findall(
        r"^([\w-]+):(.*)\n((?:\t.*\n)+)", (PROJECT / "Makefile").read_text(), re.MULTILINE
    )
    for module in re.findall(r"-m (workshop[\w.]+)", recipe)
]


@pytest.mark.parametrize(("package", "needs"), PROGRAMS)
def test_make_installs_the_cameras_for_what_imports_them(package: str, needs: list[str]) -> None:
    imports_cameras = "plate_cameras" in imported_packages(package)
    assert (".venv/.cameras" in needs) == imports_cameras


def test_no_page_and_no_message_installs_a_package_that_only_has_our_name() -> None:
    code = [*PROJECT.glob("orchestrator/**/*.py"), *PROJECT.glob("plate_cameras/**/*.py")]
    files = [*PAGES, *code]
    assert [str(file) for file in files if OURS.search(file.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("command", "packages"),
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
def test_commands_that_ask_an_index_for_us_are_found(command: str, packages: list[str]) -> None:
    assert OURS.findall(command) == packages
