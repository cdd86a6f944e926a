"""Checks of calls before they reach Triton: pictures, names, parameters and sizes."""

import base64
import io
from dataclasses import replace

import pytest
from PIL import Image

from orchestrator.contract import (
    EVERY_OUTPUT,
    MODEL,
    OF_A_READING,
    OUTPUTS,
    PLATE_READER,
    STAGE_SECONDS,
)
from orchestrator.errors import ParameterError, PictureError, RequestError
from orchestrator.imaging.headers import check_file
from orchestrator.serving.gateway.errors import NotFound
from orchestrator.serving.gateway.options import GatewayOptions, Limits
from orchestrator.serving.gateway.policy.costs import cost_of
from orchestrator.serving.gateway.policy.validation import check, check_served, take_timeout
from orchestrator.serving.protocol.bounds import check_bounds
from orchestrator.serving.protocol.bytes_tensors import encode
from orchestrator.serving.protocol.inference import InferenceRequest, PictureFile, Tensor
from tests.samples import STREET

LIMITS = Limits(pixels=1280 * 960, crop_pixels=6)
WIDE = Limits(pixels=1280 * 960, crop_pixels=1280 * 960)
JPEG = STREET.read_bytes()
PARAMETERS = {"max_plates": 1000, "roi": "0,0,9,9", "text_threshold": "0.5"}


def pixels(*shape: int, name: str = "input__0", datatype: str = "UINT8", size: int = -1) -> Tensor:
    count = size if size >= 0 else shape[0] * shape[1] * shape[2]
    return Tensor(name, datatype, shape, bytes(count))


def file(content: bytes, shape: tuple[int, ...] = (1,), datatype: str = "BYTES") -> Tensor:
    return Tensor("encoded_image", datatype, shape, encode([content]))


def crop_file(content: bytes) -> Tensor:
    return Tensor("encoded_crop", "BYTES", (1,), encode([content]))


def animation() -> bytes:
    frames = [Image.new("RGB", (30, 20), colour) for colour in ("black", "white")]
    out = io.BytesIO()
    frames[0].save(out, "WEBP", save_all=True, append_images=frames[1:])
    return out.getvalue()


CALL = InferenceRequest(MODEL, (pixels(2, 3, 3),), ("texts",))
CROP = InferenceRequest(PLATE_READER, (pixels(2, 3, 3, name="crop"),))


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(CALL, id="pixels"),
        pytest.param(CROP, id="pixels of a crop"),
        pytest.param(replace(CALL, inputs=(file(JPEG),)), id="file"),
        pytest.param(replace(CALL, inputs=(crop_file(JPEG),)), id="file of a crop"),
        pytest.param(replace(CALL, outputs=(STAGE_SECONDS,)), id="an output beside the plates"),
        pytest.param(replace(CALL, outputs=tuple(OUTPUTS)), id="every output"),
        pytest.param(replace(CROP, outputs=OF_A_READING), id="every output of a reading"),
        pytest.param(replace(CALL, parameters=PARAMETERS), id="parameters"),
        pytest.param(replace(CROP, parameters={"text_threshold": 0.2}), id="parameter of a crop"),
    ],
)
def test_a_call_is_handed_on(call: InferenceRequest) -> None:
    assert check(call, WIDE) == call


def test_a_request_that_names_no_outputs_gets_those_of_plates() -> None:
    assert check(replace(CALL, outputs=()), LIMITS).outputs == tuple(OUTPUTS)
    outputs = GatewayOptions(has_countries=True).outputs
    assert check(replace(CALL, outputs=()), LIMITS, outputs).outputs == tuple(EVERY_OUTPUT)


def test_outputs_about_countries_are_known_where_the_model_has_them() -> None:
    call = replace(CALL, outputs=("countries", STAGE_SECONDS))
    assert check(call, LIMITS, GatewayOptions(has_countries=True).outputs) == call
    with pytest.raises(RequestError, match=r"wanted some of .*, stage_seconds, got 'countries'$"):
        check(call, LIMITS, GatewayOptions().outputs)


def test_base64_becomes_the_file_and_costs_what_unpacking_and_carrying_it_takes() -> None:
    call = check(InferenceRequest(MODEL, (file(base64.b64encode(JPEG)),)), LIMITS)
    assert call.inputs == (PictureFile("encoded_image", JPEG),)
    assert call.cost == cost_of(len(JPEG), check_file(JPEG, LIMITS.pixels))
    assert check(CALL, LIMITS).cost == cost_of(18)


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (pixels(2, 3, 3, datatype="FP32"), r"UINT8 \[height, width, 3\], got FP32"),
        (pixels(2, 3, 1), r"got UINT8 \[2, 3, 1\]"),
        (Tensor("input__0", "UINT8", (2, 3), bytes(6)), r"got UINT8 \[2, 3\]"),
        (pixels(1, 2, 3, 3, size=18), r"got UINT8 \[1, 2, 3, 3\]"),
        (pixels(0, 4, 3), "wanted 1 to 1228800 pixels, got 4x0"),
        (pixels(-2, -3, 3, size=18), "got -3x-2 pixels"),
        (pixels(961, 1280, 3, size=1), "got 1280x961 pixels"),
        (pixels(1 << 40, 1 << 40, 3, size=0), "got 1099511627776x109951"),
        (pixels(2, 3, 3, size=17), "wanted 18 bytes by its shape, got 17"),
        (pixels(2, 3, 3, size=19), "wanted 18 bytes by its shape, got 19"),
        (file(b"junk"), "wanted a JPEG, PNG, WebP or BMP file, got 4"),
        (file(b""), "wanted a JPEG, PNG, WebP or BMP file, got 0"),
        (PictureFile("encoded_image", b""), "got 0 bytes"),
        (file(b"/9j/*"), "wanted the base64 text"),
        (file(animation()), "got an animation"),
        (file(b"", (2,)), r"wanted BYTES \[1\], got BYTES \[2\]"),
        (file(b"", (1, 1)), r"wanted BYTES \[1\], got BYTES \[1, 1\]"),
        (file(b"", datatype="UINT8"), r"wanted BYTES \[1\], got UINT8 \[1\]"),
        (crop_file(JPEG), "wanted 1 to 6 pixels, got 1280x960"),
    ],
)
def test_what_is_no_picture_is_refused(tensor: Tensor, message: str) -> None:
    with pytest.raises(PictureError, match=message):
        check(replace(CALL, inputs=(tensor,)), LIMITS)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"picture_mb": 1}, r"takes up to 1 MiB to unpack, got one of .* pixels"),
        ({"pixels": 100}, "wanted 1 to 100 pixels, got 1280x960"),
    ],
)
def test_a_file_that_never_fits_a_limit_is_refused(limits: dict[str, int], message: str) -> None:
    with pytest.raises(PictureError, match=message):
        check(replace(CALL, inputs=(file(JPEG),)), replace(LIMITS, **limits))


BROKEN = Tensor("encoded_image", "BYTES", (1,), b"\xff\xff\xff\xff")
BOTH = (pixels(2, 3, 3), file(JPEG))
CROP_FILE = replace(CALL, inputs=(crop_file(b""),))


@pytest.mark.parametrize(
    ("call", "changes", "kind", "message"),
    [
        (CALL, {"inputs": ()}, RequestError, "exactly one of input__0 and encoded_image, got none"),
        (CALL, {"inputs": BOTH}, RequestError, "got .'input__0', 'encoded_image'"),
        (CALL, {"inputs": CROP.inputs}, RequestError, r"got \['crop'\]"),
        (CALL, {"inputs": (BROKEN,)}, RequestError, "got one that ends 4294967295 bytes after"),
        (CROP, {"inputs": ()}, RequestError, "wanted crop alone, got none"),
        (CROP, {"inputs": CALL.inputs}, RequestError, "wanted crop alone, got"),
        (CROP, {"inputs": (pixels(1, 7, 3, name="crop"),)}, PictureError, "1 to 6 pixels, got 7x1"),
        (CALL, {"outputs": ("texts", "output__0")}, RequestError, "wanted some of .*'output__0'"),
        (CROP, {"outputs": ("coordinates",)}, RequestError, "wanted some of .*, got 'coordinates'"),
        (CALL, {"parameters": {"priority": 1}}, ParameterError, "got priority"),
        (CALL, {"parameters": {"max_plates": 1001}}, ParameterError, "wanted 1 to 1000, got 1001"),
        (CROP, {"parameters": PARAMETERS}, ParameterError, "some of text_threshold, got max_plat"),
        (CROP_FILE, {"parameters": PARAMETERS}, ParameterError, "some of text_threshold, got max_"),
    ],
)
def test_a_call_of_another_kind_is_refused(
    call: InferenceRequest, changes: dict, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        check(replace(call, **changes), LIMITS)


@pytest.mark.parametrize(
    ("model", "version", "message"),
    [
        ("", "", "^model: wanted one of plate_recognition, "),
        ("yolo", "", "^model: wanted one of plate_recognition, "),
        ("plate_recognition ", "", "^model: wanted one of plate_recognition, "),
        ("x" * 10_000, "", "^model: wanted one of plate_recognition, "),
        (MODEL, "latest", "version: wanted a number, got"),
        (MODEL, "1" * 10, "version: wanted a number, got"),
        (MODEL, "٣", "version: wanted a number, got"),
        (MODEL, "-1", "version: wanted a number, got"),
    ],
)
def test_another_model_or_version_is_not_served(model: str, version: str, message: str) -> None:
    with pytest.raises(NotFound, match=message) as raised:
        check_served(model, version, GatewayOptions().served_models)
    assert len(str(raised.value)) < 150


def test_the_operators_models_are_served() -> None:
    models = GatewayOptions(has_plates=False, models=("double",)).served_models
    check_served("double", "2", models)
    with pytest.raises(NotFound, match=r"^model: wanted one of double, got 'plate_recognition'$"):
        check_served(MODEL, "", models)


def test_the_timeout_of_a_request_and_a_flag_of_triton_are_no_parameters_of_the_model() -> None:
    parameters = {"a": 1, "timeout": 2_500_000, "triton_enable_empty_final_response": True}
    call = take_timeout(replace(CALL, parameters=parameters))
    assert (call.parameters, call.timeout_s) == ({"a": 1}, 2.5)
    assert take_timeout(CALL) == CALL


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("triton_enable_empty_final_response", 1, "true or false, got 1"),
        ("timeout", 0, "microseconds above 0, got 0"),
        ("timeout", True, "microseconds above 0, got True"),
        ("timeout", "9", "microseconds above 0, got '9'"),
        ("timeout", 1.5, "microseconds above 0, got 1.5"),
    ],
)
def test_a_wrong_timeout_or_flag_is_refused(name: str, value: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        take_timeout(replace(CALL, parameters={name: value}))


def test_a_call_within_the_bounds_is_returned() -> None:
    outputs = tuple(f"o{i}" for i in range(32))
    parameters = {f"p{i}": "x" * 1024 for i in range(32)}
    full = replace(CALL, outputs=outputs, parameters=parameters, id="ж" * 256, version="123")
    assert check_bounds(full) is full


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inputs": CALL.inputs * 9}, "inputs: wanted up to 8, got 9"),
        ({"inputs": CALL.inputs * 2}, "inputs: wanted each name once"),
        ({"outputs": ("a",) * 33}, "outputs: wanted up to 32, got 33"),
        ({"outputs": ("a", "b", "a")}, "outputs: wanted each name once"),
        ({"outputs": ("",)}, "wanted names of 1 to 64 .* got ''"),
        ({"outputs": ("a\n",)}, r"got 'a\\n'"),
        ({"outputs": ("a" * 65,)}, "wanted names of 1 to 64"),
        ({"parameters": {f"p{i}": 1 for i in range(33)}}, "parameters: wanted up to 32, got 33"),
        ({"parameters": {"a": "x" * 1025}}, "up to 1024 characters, got 1025"),
        ({"parameters": {"a": 2**63}}, "wanted a number of 64 bits"),
        ({"parameters": {"a": float("inf")}}, "wanted a finite number"),
        ({"id": "x" * 257}, "up to 256 printable characters"),
        ({"id": "a\0"}, "up to 256 printable characters"),
    ],
)
def test_too_much_of_anything_is_refused(changes: dict, message: str) -> None:
    with pytest.raises(RequestError, match=message) as raised:
        check_bounds(replace(CALL, **changes))
    assert len(str(raised.value)) < 200
