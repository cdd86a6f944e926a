"""Metrics count every call over all processes of a gateway; callers cannot create labels."""

import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from orchestrator.serving.gateway.errors import QuotaExceeded, outcome_of
from orchestrator.serving.gateway.ops.audit import CallEntry
from orchestrator.serving.gateway.ops.metrics import Metrics, join
from orchestrator.serving.gateway.policy.admission import Counts
from tests.samples import PROJECT

COUNTS = Counts(inside=5, waiting=3, in_work=2, delayed_rejections=7, bytes=1024)


NONE = Counts(0, 0, 0, 0, 0)


def make(counts: Counts = NONE) -> Metrics:
    return Metrics(lambda: counts)


def samples_of(page: bytes) -> dict[str, float]:
    """Return a page's numbers that are not 0, by name and labels."""
    return {
        sample.name.removeprefix("plates_gateway_") + str([*sample.labels.values()]): sample.value
        for family in text_string_to_metric_families(page.decode())
        for sample in family.samples
        if sample.value
    }


def test_every_reason_is_there_before_the_first_call() -> None:
    page = make().render().decode()
    assert 'calls_total{front="rest",model="plate_reader",reason="rate"} 0.0\n' in page
    assert 'calls_total{front="kserve-grpc",model="other",reason="ok"} 0.0\n' in page
    assert 'call_seconds_count{front="kserve-http"} 0.0\n' in page


def test_a_call_is_counted_by_front_model_and_key_and_a_refused_one_by_its_reason() -> None:
    metrics = make()
    entry = CallEntry("key:north", "x", "plate_recognition", ms=2500, bytes=10, plates=3)
    metrics.note("rest", entry)
    reason = outcome_of(QuotaExceeded("too many")).reason
    metrics.note("kserve-grpc", CallEntry("192.0.2.1", "x", "plate_reader", reason=reason, ms=1000))
    samples = samples_of(metrics.render())
    assert {name: value for name, value in samples.items() if "bucket" not in name} == {
        "calls_total['rest', 'plate_recognition', 'ok']": 1,
        "calls_total['kserve-grpc', 'plate_reader', 'rate']": 1,
        "calls_by_key_total['north', 'ok']": 1,
        "plates_total[]": 3,
        "body_bytes_total[]": 10,
        "call_seconds_count['rest']": 1,
        "call_seconds_sum['rest']": 2.5,
    }
    assert "call_seconds_bucket['rest', '2.0']" not in samples
    assert samples["call_seconds_bucket['rest', '5.0']"] == 1
    assert b"192.0.2.1" not in metrics.render()


def test_the_state_of_the_moment_connections_and_lost_lines_are_told() -> None:
    metrics = make(COUNTS)
    metrics.connections.set(4)
    metrics.dropped_connections.inc(2)
    metrics.lost_audit_lines.inc()
    assert samples_of(metrics.render()) == {
        "inside[]": 5, "waiting[]": 3, "in_work[]": 2, "held[]": 7, "memory_bytes[]": 1024,
        "connections[]": 4, "connections_dropped_total[]": 2, "audit_lost_total[]": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    "entry_of",
    [
        pytest.param(lambda text: CallEntry("a", "x", text), id="models"),
        pytest.param(lambda text: CallEntry("a", "x", reason=text), id="reasons"),
        pytest.param(lambda text: CallEntry(f"10.0.{text}.1", "x"), id="addresses"),
        pytest.param(lambda text: CallEntry("a", text, id=text), id="texts"),
    ],
)
def test_no_caller_makes_a_label(entry_of: Callable[[str], CallEntry]) -> None:
    metrics = make()
    fewest = metrics.render().count(b"\n")
    for number in range(3000):
        metrics.note("rest", entry_of(str(number)))
    assert metrics.render().count(b"\n") <= fewest + 1  # other's


def test_names_of_keys_are_bounded_though_the_file_changes() -> None:
    metrics = make()
    for number in (*range(3000), 0):
        metrics.note("rest", CallEntry(f"key:k{number}", "x"))
    samples = samples_of(metrics.render())
    by_key = {name: value for name, value in samples.items() if name.startswith("calls_by_key")}
    assert (len(by_key), by_key["calls_by_key_total['other', 'ok']"]) == (1001, 2000)
    assert by_key["calls_by_key_total['k0', 'ok']"] == 2
    metrics = make()
    metrics.note_key_ends({f"key-{number}": 1.0 + number for number in range(1001)})
    ends = samples_of(metrics.render())
    assert (len(ends), max(ends.values())) == (1000, 1000.0)


def test_an_unknown_front_is_other_and_two_gateways_in_one_process_share_nothing() -> None:
    first, second = make(), make()
    first.note("smtp", CallEntry("a", "x"))
    assert samples_of(first.render())["calls_total['other', 'other', 'ok']"] == 1
    assert "calls_total['other', 'other', 'ok']" not in samples_of(second.render())


TRITONS = b"""# HELP nv_inference_count Number of inferences
# TYPE nv_inference_count counter
nv_inference_count{model="yolo",version="1"} 7
# HELP plates_found_total Plates found.
# TYPE plates_found_total counter
plates_found_total 3
"""
CLASH = b"""# HELP plates_gateway_plates_total Not ours.
# TYPE plates_gateway_plates_total counter
plates_gateway_plates_total{a="b"} 9"""


@pytest.mark.parametrize(
    ("tritons", "kept_page"),
    [
        (TRITONS, TRITONS),
        (CLASH + b"\n" + TRITONS, TRITONS),
        (TRITONS + CLASH, TRITONS),
        (CLASH, b""),
        (b"", b""),
        (b"nv_x 1", b"nv_x 1\n"),  # without its last newline
    ],
)
def test_both_pages_are_one_without_series_of_ours_from_triton(
    tritons: bytes, kept_page: bytes
) -> None:
    ours = make().render()
    assert join(ours, tritons) == ours + kept_page


GATEWAY = """
import os, sys
from orchestrator.serving.gateway.policy.admission import Counts
from orchestrator.serving.gateway.ops.audit import CallEntry
from orchestrator.serving.gateway.ops.metrics import Metrics

metrics = Metrics(lambda: Counts(1, 0, 0, 0, 0))
metrics.note("rest", CallEntry("key:north", "x", "plate_reader", ms=50, bytes=10, plates=2))
metrics.connections.set(3)
metrics.note_key_ends({"north": 60.0})
metrics.note_certificate("chain.pem", 30.0)
metrics.refresh()
"""


BESIDE = f"""
import subprocess, sys

subprocess.run([sys.executable, "-c", {GATEWAY!r}], check=True)
"""


def page_of(folder: Path, code: str) -> bytes:
    """Run one process of a gateway with one call; return what it writes."""
    return subprocess.run(
        [sys.executable, "-c", GATEWAY + code],
        env=os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(folder)},
        cwd=PROJECT, check=True, stdout=subprocess.PIPE,
    ).stdout  # fmt: skip


def families_of(page: bytes) -> list[tuple[str, str]]:
    return [(family.name, family.type) for family in text_string_to_metric_families(page.decode())]


def test_any_process_tells_the_sums_of_all_under_the_same_names(tmp_path: Path) -> None:
    page = page_of(tmp_path, f"{BESIDE}sys.stdout.buffer.write(metrics.render())")
    samples = samples_of(page)
    assert samples["calls_total['rest', 'plate_reader', 'ok']"] == 2
    assert samples["calls_by_key_total['north', 'ok']"] == 2
    assert (samples["plates_total[]"], samples["body_bytes_total[]"]) == (4, 20)
    assert samples["call_seconds_bucket['rest', '0.05']"] == 2
    assert (samples["inside[]"], samples["connections[]"]) == (2, 6)
    ends = ("key_expires_in_seconds['north']", "certificate_expires_in_seconds['chain.pem']")
    assert [samples[end] for end in ends] == [60, 30]
    alone = make()
    alone.note("rest", CallEntry("key:north", "x", "plate_reader"))
    alone.note_key_ends({"north": 60.0})
    alone.note_certificate("chain.pem", 30.0)
    assert sorted(families_of(page)) == sorted(families_of(alone.render()))


def test_the_ends_of_keys_and_of_the_certificate_are_told_while_they_are_there() -> None:
    metrics = make()
    metrics.note_key_ends({"north": -5.0, "south": 60.0})
    metrics.note_certificate("chain.pem", 3600.0)
    assert samples_of(metrics.render()) == {
        "key_expires_in_seconds['north']": -5.0,
        "key_expires_in_seconds['south']": 60.0,
        "certificate_expires_in_seconds['chain.pem']": 3600.0,
    }
    metrics.note_key_ends({})
    missing_ends = {f"key_expires_in_seconds['{name}']": math.inf for name in ("north", "south")}
    assert missing_ends.items() <= samples_of(metrics.render()).items()
