"""The two forms of text reading, on a real server."""

from collections.abc import Iterator, Mapping
from contextlib import nullcontext

import cv2
import numpy as np
import pandas as pd
import pytest
import tritonclient.grpc as grpc
import tritonclient.http as http
from tritonclient.utils import InferenceServerException

from examples.ocr import __main__ as example
from examples.ocr.__main__ import FORMS, main, read_text
from examples.ocr.pages import PAGES, Page
from orchestrator.serving.supervisor.options import ServerOptions

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def client(server: ServerOptions) -> Iterator[grpc.InferenceServerClient]:
    with grpc.InferenceServerClient(server.grpc_url) as client:
        yield client


@pytest.fixture(scope="module")
def web(server: ServerOptions) -> Iterator[http.InferenceServerClient]:
    with http.InferenceServerClient(server.http_url) as client:
        yield client


def read_over_http(web: http.InferenceServerClient, form: str, file: bytes) -> str:
    tensor = http.InferInput("encoded_image", [1], "BYTES")
    tensor.set_data_from_numpy(np.array([file], np.object_))
    return web.infer(form, [tensor]).as_numpy("records")[0].decode()


@pytest.fixture(scope="module")
def tables(client: grpc.InferenceServerClient) -> Mapping[tuple[str, str], pd.DataFrame]:
    """The texts of every page, by the form that read them."""
    return {
        (form, name): read_text(client, form, page.encode())
        for form in FORMS
        for name, page in PAGES.items()
    }


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_read_line_by_line(tables, form: str, name: str) -> None:
    table = tables[form, name]
    assert table["text"].to_list() == [*PAGES[name].lines]
    assert table["score"].between(0.7, 1).all()


@pytest.mark.parametrize("name", PAGES)
def test_both_forms_answer_the_same(tables, name: str) -> None:
    first, other = (tables[form, name] for form in FORMS)
    assert first["text"].to_list() == other["text"].to_list()
    np.testing.assert_allclose(first["score"].to_list(), other["score"].to_list(), atol=1e-4)
    assert first["corners"].to_list() == other["corners"].to_list()


@pytest.mark.parametrize("form", FORMS)
def test_a_page_without_text_is_an_empty_table(tables, web, form: str) -> None:
    table = tables[form, "blank"]
    assert table.empty
    assert [*table.columns] == ["text", "score", "corners"]
    assert read_over_http(web, form, PAGES["blank"].encode()) == "[]"


@pytest.mark.parametrize("form", FORMS)
def test_corners_enclose_the_ink(client, form: str) -> None:
    page = Page(("EXIT",), (480, 160), 64)
    (corners,) = read_text(client, form, page.encode())["corners"]
    ink = cv2.imdecode(np.frombuffer(page.encode(), np.uint8), cv2.IMREAD_GRAYSCALE) < 128
    rows_columns = np.nonzero(ink)
    left_top, right_bottom = (np.flip(edge(rows_columns, axis=1)) for edge in (np.min, np.max))
    margins = [*(left_top - np.min(corners, axis=0)), *(np.max(corners, axis=0) - right_bottom)]
    assert min(margins) > 0
    assert max(margins) < 16


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("file", [b"", b"no picture"])
def test_a_broken_picture_is_refused_and_the_next_is_read(
    client, web, form: str, file: bytes
) -> None:
    with pytest.raises(InferenceServerException, match="wanted a JPEG, PNG") as over_grpc:
        read_text(client, form, file)
    with pytest.raises(InferenceServerException, match="wanted a JPEG, PNG") as over_http:
        read_over_http(web, form, file)
    assert over_grpc.value.status() == "StatusCode.INVALID_ARGUMENT"
    assert over_http.value.status() == "400"
    assert read_text(client, form, PAGES["sign"].encode())["text"].to_list() == ["EXIT ONLY"]


def test_the_command_says_that_the_answers_are_equal(
    server: ServerOptions, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = {name: PAGES[name] for name in ("sign", "letter", "blank")}
    monkeypatch.setattr(example, "PAGES", few)
    monkeypatch.setattr(example, "own_server", lambda _: nullcontext(server))
    main()
    output = capsys.readouterr().out
    assert output.count("equal: True") == len(few)
    assert "your order of 24 November 2026" in output
