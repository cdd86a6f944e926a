"""Results as a Parquet file, for tables of any size."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from orchestrator.cli.recognition.result_entry import COLUMNS, Entry, Row
from orchestrator.errors import ExtraError, SettingsError

BRINGS = "pip install 'pyarrow<26'"
"""The install command; later versions need NumPy 2, and Triton's workers NumPy 1."""
ROWS_AT_ONCE = 5000
"""Plates that are kept until they are written together as a row group."""
WHOLE = {"plates", "plate", "watchlist_distance"}
NUMBERS = {"text_score", "detection_score", "country_score", "x0", "y0", "x1", "y1"}


def load_packages() -> tuple[Any, Any]:
    """Return `pyarrow` and `pyarrow.parquet`, which only this module needs.

    Raises:
        ExtraError: They are not installed, or do not fit the installed NumPy.
    """
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise ExtraError(
            f"--parquet: wanted the package pyarrow, got: {error}; {BRINGS} brings it"
        ) from error


class Parquet:
    """A Parquet file with the columns of the CSV file; it can be read once it is closed."""

    def __init__(self, path: Path) -> None:
        """Create a file.

        Raises:
            ExtraError: The package that writes it is not installed.
            SettingsError: It cannot be written.
        """
        pyarrow, parquet = load_packages()
        kinds = {
            **dict.fromkeys(COLUMNS, pyarrow.string()),
            **dict.fromkeys(WHOLE, pyarrow.int32()),
            **dict.fromkeys(NUMBERS, pyarrow.float64()),
        }
        self._schema = pyarrow.schema([(name, kinds[name]) for name in COLUMNS])
        self._to_table: Any = pyarrow.Table.from_pylist
        self._rows: list[Row] = []
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = parquet.ParquetWriter(path, self._schema, compression="zstd")
        except OSError as error:
            raise SettingsError(f"{path}: cannot be written: {error}") from error

    def write(self, entry: Entry) -> None:
        self._rows += (
            row | {"picture": row["picture"].encode(errors="replace").decode()}
            for row in entry.to_rows()
        )
        if len(self._rows) >= ROWS_AT_ONCE:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        try:
            self._writer.write_table(self._to_table(self._rows, schema=self._schema))
        except OSError as error:
            raise SettingsError(f"{self._path}: cannot be written: {error}") from error
        self._rows = []
