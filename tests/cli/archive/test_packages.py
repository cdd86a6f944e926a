import pytest

from orchestrator.cli.archive.packages import check_packages, load
from orchestrator.errors import ExtraError


def test_a_package_that_is_there_is_loaded() -> None:
    assert load("json.decoder").__name__ == "json.decoder"


def test_without_ray_one_line_says_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.cli.archive.packages.find_spec", lambda name: None)
    wanted = r"archive: wanted the package ray, got none; pip install -e '\.\[archive\]' in the"
    with pytest.raises(ExtraError, match=wanted):
        check_packages()
