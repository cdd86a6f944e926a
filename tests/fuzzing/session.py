"""A session of coverage-guided fuzzing: seeds, results, and the options of libFuzzer."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import atheris
import cv2

MAX_BYTES = 32_768
"""Largest input that the fuzzer generates, in bytes; seeds may be longer."""
MAX_MB, MAX_DURATION_S, SLOW_S = 3000, 60, 5
"""Limits for one input; an input that exceeds one is a finding."""
NOTED_EVERY = 1000

Mutator = Callable[[bytes, int, int], bytes]


@dataclass
class Notes:
    """The results of a session, written to a file that survives a crash.

    Attributes:
        folder: Folder of the findings and of `notes.json`.
        executions: Number of inputs tried.
        outcomes: Number of inputs by outcome.
        findings: File and error of each fault, by the line that raised it.
    """

    folder: Path
    executions: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    findings: dict[str, str] = field(default_factory=dict)

    def count(self, outcome: str) -> None:
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        self.executions += 1
        if self.executions % NOTED_EVERY == 0:
            self.write()

    def keep(self, file: bytes, error: Exception) -> None:
        """Keep an input that caused a fault; one for each line that raises."""
        cause = error.__cause__ or error
        last = traceback.extract_tb(cause.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno} {type(cause).__name__}"
        if where not in self.findings:
            name = f"fault-{hashlib.sha256(where.encode()).hexdigest()[:12]}"
            (self.folder / name).write_bytes(file)
            self.findings[where] = f"{name}: {error!r:.300}"
            self.write()

    def write(self) -> None:
        results = {name: value for name, value in vars(self).items() if name != "folder"}
        (self.folder / "notes.json").write_text(json.dumps(results, indent=1) + "\n")


def run(
    door: Callable[[bytes], str],
    seeds: Iterable[bytes],
    words: Iterable[str] = (),
    mutate: Mutator | None = None,
) -> None:
    """Fuzz an entry point for the time on the command line. This does not return.

    Args:
        door: Processes an input and returns the outcome; an exception is a finding.
        seeds: Inputs to begin with.
        words: Words that inputs may contain.
        mutate: Function that makes an input from another; libFuzzer's own when None.
    """
    parser = argparse.ArgumentParser(description="Fuzz for some minutes.")
    parser.add_argument("folder", type=Path, help="of seeds, findings and notes")
    parser.add_argument("--minutes", type=float, default=60)
    arguments = parser.parse_args()
    corpus = arguments.folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        (corpus / hashlib.sha256(seed).hexdigest()[:20]).write_bytes(seed)
    dictionary = arguments.folder / "words.dict"
    dictionary.write_text("".join(f'"{word}"\n' for word in words))
    notes = Notes(arguments.folder)
    cv2.setLogLevel(0)

    def try_input(input_bytes: bytes) -> None:
        try:
            notes.count(door(input_bytes))
        except Exception as error:
            notes.count("fault")
            notes.keep(input_bytes, error)

    flags = [
        f"-max_total_time={round(60 * arguments.minutes)}", f"-max_len={MAX_BYTES}",
        f"-dict={dictionary}",
        f"-artifact_prefix={arguments.folder}/",
        f"-rss_limit_mb={MAX_MB}", f"-timeout={MAX_DURATION_S}",
        f"-report_slow_units={SLOW_S}", "-print_final_stats=1", "-close_fd_mask=3", "-reload=0",
    ]  # fmt: skip
    options = {} if mutate is None else {"custom_mutator": mutate}
    atheris.Setup([sys.argv[0], *flags, str(corpus)], try_input, **options)
    atheris.Fuzz()
