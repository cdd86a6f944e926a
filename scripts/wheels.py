"""Build the wheels of a release, and check them.

usage: wheels.py [--tag v1.0.0] [--to dist]
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import zipfile
from pathlib import Path

from packaging.metadata import Metadata

from orchestrator.host.distribution import read_version

PROJECT = Path(__file__).resolve().parents[1]
PACKAGES = {"plates-orchestrator": PROJECT, "plates-cameras": PROJECT / "plate_cameras"}
"""Folders of the packages, by their names for pip."""


def main() -> None:
    """Build and check; print the paths."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tag", default="", help="tag of the release, v and its version")
    parser.add_argument("--to", type=Path, default=PROJECT / "dist")
    options = parser.parse_args()
    if options.tag:
        check_tag(options.tag, (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8"))
    for name, folder in PACKAGES.items():
        print(check_wheel(build(name, folder, options.to), name))


def check_tag(tag: str, changelog: str) -> None:
    """Check that a tag is that of the version, and that the changelog has a section for it."""
    version = read_version()
    if tag != f"v{version}":
        sys.exit(f"tag: wanted v{version}, the version of pyproject.toml, got {tag}")
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changelog, re.M):
        sys.exit(f"CHANGELOG.md: wanted a section [{version}] with its day, got none")


def build(name: str, folder: Path, to: Path) -> Path:
    """Build a package's wheel and return its path; an older one of any version is removed."""
    stem = name.replace("-", "_")
    for older in to.glob(f"{stem}-*.whl"):
        older.unlink()
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(to)]
    subprocess.run([*command, str(folder)], check=True)
    (wheel,) = to.glob(f"{stem}-*.whl")
    return wheel


def check_wheel(wheel: Path, name: str) -> Path:
    """Check the metadata of a wheel as an index does, and the licence in it."""
    with zipfile.ZipFile(wheel) as files:
        (path,) = (file for file in files.namelist() if file.endswith(".dist-info/METADATA"))
        metadata = Metadata.from_email(files.read(path), validate=True)
    actual = (metadata.name, str(metadata.version), metadata.license_expression)
    expectation = (name, read_version(), "AGPL-3.0-or-later")
    if actual != expectation:
        sys.exit(f"{wheel.name}: wanted {expectation}, got {actual}")
    return wheel


if __name__ == "__main__":
    main()
