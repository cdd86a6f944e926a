import ast
import inspect
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from poetry.core.masonry.api import build_wheel

import orchestrator
from orchestrator import errors
from orchestrator.cli.new_pipeline import TEMPLATE
from tests.samples import PROJECT


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


def test_a_wheel_holds_the_product_and_the_template_alone(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(PROJECT)
    with zipfile.ZipFile(tmp_path / build_wheel(str(tmp_path))) as wheel:
        files = wheel.namelist()
    assert {file.split("/")[0].partition("-")[0] for file in files} == {"orchestrator"}
    assert {"orchestrator/formats/countries/russia/formats.toml", "orchestrator/py.typed"} <= {
        *files
    }
    template = {str(file.relative_to(PROJECT)) for file in TEMPLATE.rglob("*") if file.is_file()}
    assert {file for file in files if "/cli/pipeline/" in file} == template
