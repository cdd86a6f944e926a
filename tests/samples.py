"""Shared inputs of many tests: the project's folders, and a picture with its texts."""

import shutil
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
PLATES = Path(sys.executable).with_name("plates")
STREET = PROJECT / "tests" / "data" / "street.jpg"
TEXTS = ["TO05577", "A123BC77", "M456OP199"]
"""Texts of the plates in the street picture, best detection first."""


def copy_of_models(folder: Path) -> Path:
    """Copy the model repository with all networks that are exported already."""
    unbuilt = shutil.ignore_patterns("__pycache__")
    models = "model_repository"
    return Path(shutil.copytree(PROJECT / models, folder / models, ignore=unbuilt))


def copy_of(name: str, folder: Path) -> Path:
    """Copy one of the project's folders, without what is built in it, into another folder."""
    build_files = shutil.ignore_patterns("__pycache__", "model.[!p]*", "model.p[!y]*")
    return Path(shutil.copytree(PROJECT / name, folder / name, ignore=build_files))
