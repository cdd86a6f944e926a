"""The balancer's configuration, and figures of calls and samples made up."""

import subprocess
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from orchestrator.errors import ModelError, ServerError
from workshop.benchmarks.load.closed_loop import Call, Outcome
from workshop.benchmarks.load.rounds import Cpu, Round
from workshop.benchmarks.plan import Address
from workshop.benchmarks.scale_out import __main__ as command
from workshop.benchmarks.scale_out import balancer, callers
from workshop.benchmarks.scale_out.balancer import SHIPPED, configure
from workshop.benchmarks.scale_out.callers import Known, known_pictures
from workshop.benchmarks.scale_out.incidents import Incident
from workshop.benchmarks.scale_out.replicas import deal
from workshop.benchmarks.scale_out.report import (
    Scale,
    ScaleOutReport,
    compare_routes,
    compare_scales,
    find_impacts,
)
from workshop.benchmarks.scale_out.scaling import BALANCED, DIRECT, Concurrency, Options
from workshop.reporting.files import read_report
from workshop.reporting.machine import Machine

REPLICAS = {
    "one": Address("127.0.0.1:1101", "127.0.0.1:1102"),
    "two": Address("127.0.0.1:1201", "127.0.0.1:1202"),
}
PORTS = {"plates_http": 2001, "plates_grpc": 2002, "metrics": 2003}
PLACED = ("bind ", "server ", "stats socket ")
"""How the lines begin that say where something is."""


def configured() -> str:
    return configure(SHIPPED.read_text(), REPLICAS, PORTS, Path("/run/admin.sock"))


def lines_of(text: str, *, placed: bool) -> list[str]:
    lines = map(str.strip, text.splitlines())
    return [line for line in lines if line.startswith(PLACED) == placed]


@pytest.fixture
def haproxy() -> str:
    try:
        return balancer.find_program()
    except ServerError as error:
        pytest.skip(str(error))


def test_every_replica_is_behind_both_front_ends_and_grpc_follows_http() -> None:
    assert lines_of(configured(), placed=False) == lines_of(SHIPPED.read_text(), placed=False)
    assert lines_of(configured(), placed=True) == [
        "stats socket /run/admin.sock mode 600 level admin",
        "bind 127.0.0.1:2001",
        "bind 127.0.0.1:2002 proto h2",
        "bind 127.0.0.1:2003",
        "server one 127.0.0.1:1101 check",
        "server two 127.0.0.1:1201 check",
        "server one 127.0.0.1:1102 proto h2 track plates_http/one",
        "server two 127.0.0.1:1202 proto h2 track plates_http/two",
    ]


@pytest.mark.parametrize("text", [SHIPPED.read_text(), configured()], ids=["shipped", "ours"])
def test_haproxy_takes_the_configuration(haproxy: str, tmp_path: Path, text: str) -> None:
    file = tmp_path / "haproxy.cfg"
    file.write_text(text)
    done = subprocess.run([haproxy, "-c", "-f", file], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_without_haproxy_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balancer.shutil, "which", lambda name, path: None)
    with pytest.raises(ServerError, match="install the package haproxy"):
        balancer.find_program()


def test_cores_are_dealt_in_turn_and_shared_where_there_are_too_few() -> None:
    assert deal(3, [4, 7], 1) == [{4}, {7}, {4}]
    assert deal(1, [4, 7], 5) == [{4, 7}]


@pytest.mark.parametrize(
    ("texts", "outcome"),
    [
        (("A", "B"), Outcome(plates=2)),
        ((), Outcome(is_wrong=True, error="one: wanted (), got ('A', 'B')", plates=2)),
        (None, Outcome("failed", error="no picture")),
    ],
    ids=["in-any-order", "wrong", "an-error"],
)
def test_an_answer_is_compared_with_the_known_texts(
    monkeypatch: pytest.MonkeyPatch, texts: tuple | None, outcome: Outcome
) -> None:
    def recognize(encoded: bytes) -> SimpleNamespace:
        if texts is None:
            raise ModelError("no picture")
        return SimpleNamespace(texts=["B", "A"])

    client = SimpleNamespace(retried=0, recognize=recognize)
    monkeypatch.setattr(callers, "PlateClient", lambda url, retries: nullcontext(client))
    with callers.connect("url", [Known("one", b"", texts)], retries=0) as send:
        assert send(0) == outcome


def test_one_known_picture_has_plates_and_one_has_none() -> None:
    assert [picture.texts for picture in known_pictures()] == [
        ("A123BC77", "M456OP199", "TO05577"),
        (),
    ]


CALLS = (
    Call("http", 0, 0.0, 1.0),
    Call("http", 1, 1.0, 2.5, retries=2),
    Call("http", 2, 2.0, 3.0, "failed", error="gone"),
    Call("http", 0, 3.0, 4.5),
    Call("grpc", 4, 0.5, 1.5, retries=1),
    Call("http", 0, 4.5, 9.0),
)
INCIDENT = Incident(
    "kill", CALLS, load_began=0.0, began=2.0, ended=4.0, load_ended=5.0, resent=3,
    taken={"one": {"http": 4, "grpc": 1}, "two": {"http": 1, "grpc": 0}},
)  # fmt: skip


def test_an_incident_is_counted_for_each_protocol_and_in_its_window() -> None:
    http, grpc = find_impacts(INCIDENT)
    assert (http.calls, http.answered, http.retried, http.lost) == (5, 4, 2, 1)
    assert (http.longest_ms, http.first_failure, http.seconds) == (4500.0, "gone", 2.0)
    assert (http.before, http.during, http.after) == (1 / 2, 1 / 2, 1 / 1)
    assert (grpc.calls, grpc.retried, grpc.lost, grpc.first_failure) == (1, 1, 0, "")
    assert http.taken == {"one": 4, "two": 1}


def loop(*latencies_ms: float, **counts) -> Round:
    cpu_s = Cpu(server=0.1 * len(latencies_ms), client=0.002, balancer=0.0)
    return Round(1.0, latencies_ms, cpu_s=cpu_s, **counts)


def scaled() -> list[Scale]:
    return compare_scales(
        {
            Concurrency(2, 4): [loop(*[10.0] * 6), loop(*[20.0] * 9, refused=1), loop(*[30.0] * 8)],
            Concurrency(1, 4): [loop(*[10.0] * 4), loop(*[10.0] * 3, errors=1), loop(*[10.0] * 4)],
        }
    )


def test_replicas_are_compared_round_by_round() -> None:
    one, two = scaled()
    assert [one.concurrency, two.concurrency] == [Concurrency(1, 4), Concurrency(2, 4)]
    assert one.to_fewest == 1.0
    assert two.to_fewest == 2.0  # the median of 6 / 4, 9 / 3 and 8 / 4
    assert two.load.cpu_ms.server == pytest.approx(100.0)
    assert (one.load.lost, two.load.lost) == (1, 1)


def test_the_balancers_cost_is_the_median_of_the_rounds() -> None:
    routes = {
        ("http", DIRECT): [loop(3.0, 3.0, 9.0), loop(4.0), loop(5.0)],
        ("http", BALANCED): [loop(3.5), loop(6.0), loop(6.0, errors=2)],
    }
    (cost,) = compare_routes(routes)
    assert (cost.direct_ms, cost.balanced_ms, cost.more_ms) == (4.0, 6.0, 1.0)
    assert (cost.calls, cost.lost) == (8, 2)


def report() -> ScaleOutReport:
    routes = {("http", DIRECT): [loop(3.0)], ("http", BALANCED): [loop(4.0)]}
    return ScaleOutReport(
        machine=Machine("A", 1, 10**9, None, "Linux", "3.12", None, {}),
        options=Options(replicas=(1, 2)),
        impacts=tuple(find_impacts(INCIDENT)),
        scales=tuple(scaled()),
        costs=tuple(compare_routes(routes)),
    )


@pytest.mark.parametrize(
    ("parts", "code"),
    [({"impacts": (), "scales": ()}, 0), ({"impacts": ()}, 1), ({"scales": ()}, 1)],
)
def test_a_lost_call_makes_it_fail(monkeypatch, tmp_path: Path, parts: dict, code: int) -> None:
    made_up = replace(report(), **parts)
    monkeypatch.setattr(command, "run", lambda options: made_up)
    path = tmp_path / "new" / "out.json"
    monkeypatch.setattr("sys.argv", ["scale_out", "--json", str(path)])
    assert command.main() == code
    assert read_report(ScaleOutReport, path) == made_up


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "scale-out: haproxy: wanted the program, got none\n"),
        (["--replicas", "x"], "scale-out: replicas: wanted whole numbers like 1,2,4, got 'x'\n"),
    ],
)
def test_an_error_of_a_run_is_one_sentence(
    monkeypatch, capsys, arguments: list[str], message: str
) -> None:
    def fail(options: Options) -> ScaleOutReport:
        raise ServerError("haproxy: wanted the program, got none")

    monkeypatch.setattr(command, "run", fail)
    monkeypatch.setattr("sys.argv", ["scale_out", *arguments])
    assert command.main() == 2
    assert capsys.readouterr().err == message
