"""Tables of what `photos` has written: each reader, and ways to join two.

Example:
    python -m workshop.evaluation.studies.opinions photos.jsonl
"""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Candidates = Sequence[Sequence[Any]]
Reading = tuple[str, float]
SHOWN, OTHERS = 0.6, 20.0


def best(candidates: Candidates) -> Reading:
    return (candidates[0][0], candidates[0][1]) if candidates else ("", 0.0)


def pool(first: Candidates, second: Candidates) -> Reading:
    """Return the best text of the mean of the logarithms of both readers' probabilities."""
    readers = [dict(map(tuple, one)) for one in (first, second)]
    floors = [max(1e-4, 1 - sum(one.values())) / OTHERS for one in readers]
    texts = {text for one in readers for text in one}
    logs = {
        text: sum(
            math.log(max(one.get(text, 0.0), floor)) / 2
            for one, floor in zip(readers, floors, strict=True)
        )
        for text in texts
    }
    rest = math.log(OTHERS) + sum(map(math.log, floors)) / 2
    whole = sum(math.exp(value) for value in [*logs.values(), rest])
    return max(
        ((text, math.exp(value) / whole) for text, value in logs.items()),
        key=lambda reading: reading[1],
        default=("", 0.0),
    )


def agree(first: Candidates, second: Candidates) -> Reading:
    """Return the first reader's text; with half its score if the other names another."""
    text, score = best(first)
    return text, score if best(second)[0] == text else score / 2


def where_unsure(first: Candidates, second: Candidates) -> Reading:
    return best(first) if best(first)[1] >= 0.9 else pool(first, second)


def surer(first: Candidates, second: Candidates) -> Reading:
    return max(best(first), best(second), key=lambda reading: reading[1])


WAYS: dict[str, Callable[[dict[str, Any]], Reading]] = {
    "shipped": lambda row: best(row["shipped"]["candidates"]),
    "teacher alone": lambda row: best(row["teacher"]["candidates"]),
    "mean of both's columns": lambda row: best(row["both"]["candidates"]),
    "mean of both's log-probabilities": lambda row: pool(
        row["shipped"]["candidates"], row["teacher"]["candidates"]
    ),
    "the same, where the shipped one is unsure": lambda row: where_unsure(
        row["shipped"]["candidates"], row["teacher"]["candidates"]
    ),
    "the surer of both": lambda row: surer(
        row["shipped"]["candidates"], row["teacher"]["candidates"]
    ),
    "agreement asked for": lambda row: agree(
        row["shipped"]["candidates"], row["teacher"]["candidates"]
    ),
}


def line(name: str, rows: Sequence[dict[str, Any]], read: Callable[[Any], Reading]) -> str:
    found = [row for row in rows if row["shipped"]["verdict"] != "missed"]
    readings = [(row["wanted"], *read(row)) for row in found]
    right = [wanted == text for wanted, text, _ in readings]
    shown = [score >= SHOWN and bool(text) for _, text, score in readings]
    good = sum(ok and seen for ok, seen in zip(right, shown, strict=True))
    wrong = sum(seen and not ok for ok, seen in zip(right, shown, strict=True))
    sure = sum(not ok and score >= 0.9 for ok, (*_, score) in zip(right, readings, strict=True))
    loss = -sum(
        math.log(min(1 - 1e-4, max(1e-4, score if ok else 1 - score)))
        for ok, (*_, score) in zip(right, readings, strict=True)
    ) / max(1, len(found))
    return (
        f"  {name:42s} read {good}/{len(rows)} = {100 * good / max(1, len(rows)):.2f} %  wrong of "
        f"shown {wrong} = {100 * wrong / max(1, good + wrong):.2f} %  sure and wrong {sure}  "
        f"best right {sum(right)}  missed {len(rows) - len(found)}  log loss {loss:.4f}"
    )


def main() -> None:
    rows = [json.loads(text) for text in Path(sys.argv[1]).read_text().splitlines()]
    halves = {"half A": [0], "half B": [1], "all": [0, 1]}
    has_teacher = any("teacher" in row for row in rows)
    for row in rows:
        row.setdefault("teacher", row["shipped"]) if has_teacher else None
    ways = WAYS if has_teacher else {"shipped": WAYS["shipped"]}
    if not any("both" in row for row in rows):
        ways = {name: read for name, read in ways.items() if "columns" not in name}
    for title, kept in halves.items():
        chosen = [row for row in rows if row["half"] in kept]
        if not chosen:
            continue
        sys.stdout.write(f"{title}: {len(chosen)} plates\n")
        for name, read in ways.items():
            sys.stdout.write(line(name, chosen, read) + "\n")
        by_condition: dict[str, list[Any]] = defaultdict(list)
        for row in chosen:
            by_condition[row["condition"]].append(row)
        for condition, those in by_condition.items():
            sys.stdout.write(line("- " + condition, those, WAYS["shipped"]) + "\n")
    read_by_both = [row for row in rows if row.get("teacher") is not row["shipped"]]
    for name in ("shipped", "teacher") if has_teacher else ("shipped",):
        plates = sum(row[name]["plates"] for row in read_by_both)
        ms = sum(row[name]["ms"] for row in read_by_both) / max(1, plates)
        crops = sum(row[name]["crops"] for row in read_by_both) / max(1, plates)
        sys.stdout.write(
            f"{name}: {ms:.2f} ms of CPU a box without the detector, {crops:.2f} crops\n"
        )
    missed: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    count = 0
    for row in rows:
        if "found" not in row:
            continue
        count += 1
        for name, plates in row["found"].items():
            inside = [one for one in plates if one[3]]
            tally = missed[name]
            tally[0] += bool(inside)
            tally[1] += any(text == row["wanted"] and s >= SHOWN for text, s, *_ in inside)
            tally[2] += any(text != row["wanted"] and s >= SHOWN for text, s, *_ in inside)
            tally[3] += any(s >= SHOWN and not here for _, s, _, here in plates)
    sys.stdout.write(f"\n{count} plates not found; other searches: found, read, wrong, elsewhere\n")
    for name, tally in missed.items():
        sys.stdout.write(f"  {name:32s} {tally}\n")


if __name__ == "__main__":
    main()
