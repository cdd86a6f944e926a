"""Lines of CAMERAS.toml for errors of parts that were made of it."""

from __future__ import annotations

import re
from pathlib import Path

from orchestrator.errors import PlateError
from orchestrator.host.toml_files import tomllib
from orchestrator.host.toml_lines import find_line

OWNER = re.compile("(sink|gate) (.+?): ")
"""Begin of messages about a part of the configuration."""


def locate(file: Path, error: PlateError) -> PlateError:
    """Return an error about a sink or a gate with the file and the line of its table.

    Args:
        file: The file of the configuration.
        error: An error of a part that was made of it. Its message begins like "sink erp: ".
    """
    owner = OWNER.match(str(error))
    if not owner:
        return error
    table, name = f"{owner[1]}s", owner[2]
    try:
        content = file.read_text(encoding="utf-8-sig")
        names = [one["name"] for one in tomllib.loads(content)[table]]
        line = find_line(content, (table, names.index(name)))
    except (OSError, ValueError, LookupError, TypeError):  # it was changed meanwhile
        return error
    return type(error)(f"{file}: {error} (at line {line})")
