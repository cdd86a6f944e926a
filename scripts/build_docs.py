#!/usr/bin/env python3
"""Build the documentation as a site: site/html/index.html, which needs no network to be read.

usage: build_docs.py [FOLDER]

The pages are in docs/ and beside the code that they describe, as a Git host shows them. They link
to each other and to the code. The site has no code, so the pages are first copied to FOLDER/pages.
There, all are below one folder, links between them are adjusted, and links to code become its path.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

PROJECT = Path(__file__).resolve().parents[1]
ELSEWHERE = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/reporting.md",
    "weights/README.md": "project/weights.md",
    "examples/bls/README.md": "examples/bls.md",
    "examples/detector/README.md": "examples/detector.md",
    "examples/digits/README.md": "examples/digits.md",
    "examples/ocr/README.md": "examples/ocr.md",
    "examples/restoration/README.md": "examples/restoration.md",
    "examples/stream/README.md": "examples/stream.md",
}
"""Pages that are not in docs/, and their places in the site."""
START = {"README.md": "index.md"}
"""Pages that the site leaves out, and the pages that links to them lead to instead."""
CODE_OR_LINK = re.compile(
    r"^```.*?^```$|`[^`\n]+`|(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)",
    re.MULTILINE | re.DOTALL,
)
"""Code or a link, whichever comes first: a link's words may hold code, and code may look like a
link."""


def main() -> None:
    """Copy the pages and build the site."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else PROJECT / "site").resolve()
    try:
        lay_out(folder / "pages")
    except ValueError as error:
        sys.exit(f"build_docs: {error}")
    config = (PROJECT / "zensical.toml").read_text(encoding="utf-8")
    (folder / "zensical.toml").write_text(
        config.replace('paths = ["."]', f'paths = ["{PROJECT}"]'), encoding="utf-8"
    )
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    environment = {**os.environ, "NO_COLOR": "1"}
    sys.exit(subprocess.run(command, cwd=folder, env=environment, check=False).returncode)


def lay_out(folder: Path) -> None:
    """Write the site's pages into a folder, and the files in docs/ beside them.

    Raises:
        ValueError: A link leads nowhere.
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(PROJECT / "docs", folder)
    for source, target in pages().items():
        text = (PROJECT / source).read_text(encoding="utf-8")
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        (folder / target).write_text(adjust(text, source), encoding="utf-8")


def pages() -> dict[str, str]:
    """Return the place of each page in the site, by its path in the project."""
    docs = PROJECT / "docs"
    inside = [path.relative_to(docs).as_posix() for path in sorted(docs.rglob("*.md"))]
    return {f"docs/{path}": path for path in inside} | ELSEWHERE


def adjust(text: str, source: str) -> str:
    """Return a page's text with its links adjusted to the site; code stays as it is.

    Args:
        text: Text of the page.
        source: Its path in the project.

    Raises:
        ValueError: A link leads nowhere.
    """
    places = pages() | START

    def follow(match: re.Match[str]) -> str:
        mark, words, address = match.groups()
        path, hash_sign, anchor = (address or "").partition("#")
        if not path or "://" in path:
            return match[0]
        target_path = os.path.normpath(PurePosixPath(source).parent / path)
        target = places.get(target_path, places.get(f"{target_path}/README.md"))
        if target:
            there = os.path.relpath(target, PurePosixPath(places[source]).parent)
            return f"{mark}[{words}]({there}{hash_sign}{anchor})"
        if not (PROJECT / target_path).exists():
            raise ValueError(f"{source}: wanted a link to a file of the project, got {address}")
        return match[0] if target_path.startswith("docs/") else _name(words, target_path)

    return CODE_OR_LINK.sub(follow, text)


def _name(words: str, path: str) -> str:
    """Return the path of code as text, in place of a link to it."""
    if words.strip("`") in (path, path.rpartition("/")[2]):
        return f"`{path}`"
    return f"{words} (`{path}`)"


if __name__ == "__main__":
    main()
