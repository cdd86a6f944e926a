"""Calls of the soak test: their order, the check of their answers, and their messages."""

import contextlib
import json
import struct
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest
from tritonclient.grpc import service_pb2

from tests.waiting import until
from workshop.benchmarks.soak.callers import MOST_TOLD, Book, Crowd
from workshop.benchmarks.soak.messages import (
    BOUNDARY,
    GrpcMessage,
    HttpMessage,
    Message,
    file,
    kserve_grpc,
    kserve_http,
    kserve_json,
    pixels,
    rest,
    rest_form,
)
from workshop.benchmarks.soak.questions import EVERY, Deck, Question, shuffle
from workshop.benchmarks.soak.samples import Calls
from workshop.benchmarks.soak.wire import (
    Answer,
    Ports,
    Send,
    connect,
    read_grpc,
    read_kserve,
    read_rest,
)

PIXELS = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
MESSAGE = HttpMessage("/v1/recognize", b"")
GOOD = Question("a street", MESSAGE, Answer("200", ("A123BC77",)))
BAD = Question("no picture", MESSAGE, Answer("400", words="wanted a JPEG"))
DROPPED = Question("hung up", MESSAGE, Answer("dropped"), 0.01)


def named(name: str) -> Question:
    return Question(name, MESSAGE, Answer("200"))


def test_every_tenth_call_is_bad_and_all_are_asked_in_turn() -> None:
    deck = Deck([named(f"good {n}") for n in range(4)], [named("bad 0"), named("bad 1")])
    names = [deck.question(number).name for number in range(2 * EVERY)]
    assert names[:EVERY] == [*(f"good {n % 4}" for n in range(9)), "bad 0"]
    assert names[EVERY:] == [*(f"good {n % 4}" for n in range(9, 18)), "bad 1"]


def test_questions_are_mixed_the_same_way_each_time() -> None:
    good = [named(str(n)) for n in range(20)]
    deck = shuffle(good, [BAD])
    assert deck == shuffle(good, [BAD])
    assert deck.good != good
    assert {one.name for one in deck.good} == {one.name for one in good}


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        pytest.param(GOOD, Answer("200", ("A123BC77",)), id="answered"),
        pytest.param(BAD, Answer("400", words="it wanted a JPEG file"), id="told"),
        pytest.param(DROPPED, Answer("dropped"), id="dropped"),
    ],
)
def test_what_must_be_is_right(question: Question, answer: Answer) -> None:
    assert question.tell_wrong(answer) == ""


@pytest.mark.parametrize(
    ("question", "answer", "told"),
    [
        pytest.param(
            GOOD, Answer("200"), "a street: wanted A123BC77, got no plate", id="a plate is missing"
        ),
        pytest.param(
            GOOD,
            Answer("503", words="full"),
            "a street: wanted 200, got 503 full",
            id="refused though good",
        ),
        pytest.param(
            BAD,
            Answer("200", ("A123BC77",)),
            "no picture: wanted 400 wanted a JPEG, got 200",
            id="answered though bad",
        ),
        pytest.param(
            BAD,
            Answer("400", words="no"),
            "no picture: wanted 400 wanted a JPEG, got 400 no",
            id="other words",
        ),
    ],
)
def test_what_is_wrong_is_told(question: Question, answer: Answer, told: str) -> None:
    assert question.tell_wrong(answer) == told


def test_a_book_counts_by_what_must_be_and_times_good_calls_alone() -> None:
    book = Book()
    assert book.note(GOOD, GOOD.wanted, 0.1)
    assert book.note(GOOD, GOOD.wanted, 0.3)
    assert book.note(BAD, Answer("400", words="wanted a JPEG"), 9.0)
    assert book.note(DROPPED, Answer("dropped"), 9.0)
    assert not book.note(GOOD, Answer("503"), 9.0)
    counted = Calls(2, 1, 1, 1, p50_ms=pytest.approx(200), p95_ms=pytest.approx(290))
    assert book.turn_page() == counted
    assert book.turn_page() == Calls(2, 1, 1, 1)
    assert book.add_up() == counted
    assert book.wrong == ["a street: wanted 200, got 503"]


def test_a_book_keeps_the_first_wrong_answers_and_counts_all() -> None:
    book = Book()
    noted = [book.note(GOOD, Answer("503", words=str(n)), 0) for n in range(MOST_TOLD + 5)]
    assert not any(noted)
    assert (len(book.wrong), book.add_up().failed) == (MOST_TOLD, MOST_TOLD + 5)


@contextlib.contextmanager
def answering() -> Iterator[Send]:
    """Connect to what answers everything as the street."""
    yield lambda message, hangs_up_s: Answer("200", ("A123BC77",))


def test_a_crowd_makes_as_many_calls_as_it_is_told() -> None:
    crowd = Crowd(Deck([GOOD], [GOOD]), Book(), calls=100)
    with crowd.at_work(answering, callers=4):
        until(crowd.has_ended, "all calls made")
    assert crowd.book.add_up().answered == 100


@contextlib.contextmanager
def failing() -> Iterator[Send]:
    raise RuntimeError("no way")
    yield


def test_what_no_caller_should_meet_is_raised() -> None:
    crowd = Crowd(Deck([GOOD], [BAD]), Book())
    with pytest.raises(RuntimeError, match="no way"), crowd.at_work(failing, callers=1):
        until(crowd.has_ended, "its end")


def test_a_message_of_kserve_is_json_and_then_bytes() -> None:
    message = kserve_http([pixels(PIXELS), file(b"jpeg")], {"max_plates": 3}, "m")
    size = int(message.headers["Inference-Header-Content-Length"])
    head = json.loads(message.body[:size])
    assert message.path == "/v2/models/m/infer"
    assert [(one["name"], one["datatype"], one["shape"]) for one in head["inputs"]] == [
        ("input__0", "UINT8", [2, 4, 3]),
        ("encoded_image", "BYTES", [1]),
    ]
    assert head["parameters"] == {"binary_data_output": True, "max_plates": 3}
    assert message.body[size:] == PIXELS.tobytes() + struct.pack("<I", 4) + b"jpeg"


def test_a_message_of_json_alone_holds_every_pixel() -> None:
    (tensor,) = json.loads(kserve_json(PIXELS).body)["inputs"]
    np.testing.assert_array_equal(tensor["data"], PIXELS)


def test_a_message_of_grpc_holds_the_same() -> None:
    message = kserve_grpc([pixels(PIXELS)], {"max_plates": 3}, "m")
    request = service_pb2.ModelInferRequest.FromString(message.request)
    assert (request.model_name, list(request.inputs[0].shape)) == ("m", [2, 4, 3])
    assert list(request.raw_input_contents) == [PIXELS.tobytes()]
    assert request.parameters["max_plates"].int64_param == 3


def test_a_form_has_a_part_for_each_picture() -> None:
    form = rest_form(b"one", b"two")
    assert form.headers == {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    parts = form.body.split(f"--{BOUNDARY}".encode())
    assert [part.rpartition(b"\r\n\r\n")[2] for part in parts[1:3]] == [b"one\r\n", b"two\r\n"]
    assert parts[3] == b"--\r\n"


def test_texts_of_all_pictures_are_read() -> None:
    said = {
        "pictures": [
            {"plates": [{"text": "A123BC77"}, {"text": ""}]},
            {"problem": {"status": 400}},
            {"plate": {"text": "B840OK197"}},
            {"plates": []},
        ]
    }
    wanted = ("A123BC77", "", "problem 400", "B840OK197")
    assert read_rest(json.dumps(said).encode()) == wanted


def test_texts_in_json_and_in_bytes_are_the_same() -> None:
    output = {"name": "texts", "datatype": "BYTES", "shape": [1, 1]}
    plain = json.dumps({"outputs": [{**output, "data": ["A123BC77"]}]}).encode()
    sized = {**output, "parameters": {"binary_data_size": 12}}
    head = json.dumps({"outputs": [sized]}).encode()
    tail = struct.pack("<I", 8) + b"A123BC77"
    assert read_kserve(plain, None) == read_kserve(head + tail, len(head)) == ("A123BC77",)


def test_texts_of_grpc_are_read() -> None:
    response = service_pb2.ModelInferResponse()
    response.outputs.add(name="texts", datatype="BYTES", shape=[1, 1])
    response.raw_output_contents.append(struct.pack("<I", 8) + b"A123BC77")
    assert read_grpc(response.SerializeToString()) == ("A123BC77",)


class Gateway(BaseHTTPRequestHandler):
    """Reads a body and answers by the path."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        status, content = {
            "/v1/recognize": (200, b'{"pictures": [{"plates": [{"text": "A123BC77"}]}]}'),
            "/nonsense": (200, b"[]"),
        }.get(self.path, (404, b"not here"))
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def send() -> Iterator[Send]:
    """A caller's connections to a gateway that speaks HTTP alone."""
    with HTTPServer(("127.0.0.1", 0), Gateway) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        with connect(Ports(server.server_port, 1)) as caller:
            yield caller
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        pytest.param(rest(b"x"), Answer("200", ("A123BC77",)), id="answered"),
        pytest.param(rest(b"x", "/else"), Answer("404", words="not here"), id="refused"),
    ],
)
def test_an_answer_says_what_came(send: Send, message: Message, answer: Answer) -> None:
    assert send(message, 0) == answer


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(rest(b"x", "/nonsense"), id="an answer that is none"),
        pytest.param(rest(b"x", "/v2/nonsense"), id="not found"),
        pytest.param(GrpcMessage(b""), id="nobody listens"),
    ],
)
def test_the_next_call_after_a_failed_one_is_answered(send: Send, message: Message) -> None:
    assert send(message, 0).status in {"no answer", "404", "UNAVAILABLE"}
    assert send(rest(b"x"), 0).status == "200"


@pytest.mark.parametrize("message", [rest(b"x"), GrpcMessage(b"")], ids=["HTTP", "gRPC"])
def test_who_hangs_up_gets_no_answer(send: Send, message: Message) -> None:
    assert send(message, 0.001) == Answer("dropped")
