import base64
import io
from dataclasses import replace

import pytest
from PIL import Image

from orchestrator.contract import MODEL, OF_A_READING, OUTPUTS, PLATE_READER, STAGE_SECONDS
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


class TestPictures:
    def test_pixels_are_handed_on(self) -> None:
        assert check(CALL, LIMITS) == CALL
        assert check(CROP, LIMITS) == CROP

    def test_a_request_that_names_no_outputs_gets_those_of_plates(self) -> None:
        assert check(replace(CALL, outputs=()), LIMITS).outputs == tuple(OUTPUTS)
        assert check(replace(CALL, outputs=(STAGE_SECONDS,)), LIMITS).outputs == (STAGE_SECONDS,)

    def test_a_file_is_handed_on(self) -> None:
        call = replace(CALL, inputs=(file(STREET.read_bytes()),))
        assert check(call, LIMITS) == call

    def test_a_picture_costs_what_unpacking_and_carrying_it_takes(self) -> None:
        jpeg = STREET.read_bytes()
        call = check(replace(CALL, inputs=(file(jpeg),)), LIMITS)
        assert call.cost == cost_of(len(jpeg), check_file(jpeg, LIMITS.pixels))
        assert check(CALL, LIMITS).cost == cost_of(18)

    def test_a_picture_that_never_fits_the_memory_is_refused(self) -> None:
        call = replace(CALL, inputs=(file(STREET.read_bytes()),))
        with pytest.raises(
            PictureError, match=r"takes up to 1 MiB to unpack, got one of .* pixels"
        ):
            check(call, replace(LIMITS, picture_mb=1))

    def test_base64_becomes_the_file(self) -> None:
        call = InferenceRequest(MODEL, (file(base64.b64encode(STREET.read_bytes())),))
        assert check(call, LIMITS).inputs == (PictureFile("encoded_image", STREET.read_bytes()),)

    @pytest.mark.parametrize(
        ("tensor", "message"),
        [
            pytest.param(pixels(2, 3, 3, datatype="FP32"), r"UINT8 \[height, width, 3\], got FP32",
                         id="type"),
            pytest.param(pixels(2, 3, 1), r"got UINT8 \[2, 3, 1\]", id="grey"),
            pytest.param(Tensor("input__0", "UINT8", (2, 3), bytes(6)), r"got UINT8 \[2, 3\]",
                         id="rank"),
            pytest.param(pixels(1, 2, 3, 3, size=18), r"got UINT8 \[1, 2, 3, 3\]", id="batch"),
            pytest.param(pixels(0, 4, 3), "wanted 1 to 1228800 pixels, got 4x0", id="empty"),
            pytest.param(pixels(-2, -3, 3, size=18), "got -3x-2 pixels", id="negative"),
            pytest.param(pixels(961, 1280, 3, size=1), "got 1280x961 pixels", id="too large"),
            pytest.param(pixels(1 << 40, 1 << 40, 3, size=0), "got 1099511627776x109951",
                         id="overflow"),
            pytest.param(pixels(2, 3, 3, size=17), "wanted 18 bytes by its shape, got 17",
                         id="too few bytes"),
            pytest.param(pixels(2, 3, 3, size=19), "wanted 18 bytes by its shape, got 19",
                         id="too many bytes"),
            pytest.param(file(b"junk"), "wanted a JPEG, PNG, WebP or BMP file, got 4", id="junk"),
            pytest.param(file(b""), "wanted a JPEG, PNG, WebP or BMP file, got 0", id="no bytes"),
            pytest.param(PictureFile("encoded_image", b""), "got 0 bytes", id="empty file"),
            pytest.param(file(b"/9j/*"), "wanted the base64 text", id="damaged base64"),
            pytest.param(file(animation()), "got an animation", id="animation"),
            pytest.param(file(b"", (2,)), r"wanted BYTES \[1\], got BYTES \[2\]", id="two files"),
            pytest.param(file(b"", (1, 1)), r"wanted BYTES \[1\], got BYTES \[1, 1\]",
                         id="rank of a file"),
            pytest.param(file(b"", datatype="UINT8"), r"wanted BYTES \[1\], got UINT8 \[1\]",
                         id="type of a file"),
        ],
    )  # fmt: skip
    def test_what_is_no_picture_is_refused(self, tensor: Tensor, message: str) -> None:
        with pytest.raises(PictureError, match=message):
            check(replace(CALL, inputs=(tensor,)), LIMITS)

    def test_a_length_that_is_none_is_refused(self) -> None:
        broken = Tensor("encoded_image", "BYTES", (1,), b"\xff\xff\xff\xff")
        with pytest.raises(RequestError, match="got one that ends 4294967295 bytes after"):
            check(replace(CALL, inputs=(broken,)), LIMITS)

    def test_a_file_has_as_many_pixels_as_allowed(self) -> None:
        call = InferenceRequest(MODEL, (file(STREET.read_bytes()),))
        with pytest.raises(PictureError, match="wanted 1 to 100 pixels, got 1280x960"):
            check(call, Limits(pixels=100))

    def test_a_file_of_a_crop_is_handed_on(self) -> None:
        call = replace(CALL, inputs=(crop_file(STREET.read_bytes()),))
        assert check(call, replace(LIMITS, crop_pixels=1280 * 960)) == call

    def test_a_file_of_a_crop_has_the_limit_of_crops(self) -> None:
        call = replace(CALL, inputs=(crop_file(STREET.read_bytes()),))
        with pytest.raises(PictureError, match="pixels"):
            check(call, LIMITS)

    def test_a_crop_takes_no_parameter_of_the_detector(self) -> None:
        crop = crop_file(STREET.read_bytes())
        call = replace(CALL, inputs=(crop,), parameters={"max_plates": "1"})
        with pytest.raises(ParameterError, match="wanted some of text_threshold, got max_plates"):
            check(call, replace(LIMITS, crop_pixels=1280 * 960))

    def test_a_crop_has_a_limit_of_its_own(self) -> None:
        with pytest.raises(PictureError, match="wanted 1 to 6 pixels, got 7x1"):
            check(replace(CROP, inputs=(pixels(1, 7, 3, name="crop"),)), LIMITS)

    @pytest.mark.parametrize(
        ("call", "names", "message"),
        [
            pytest.param(CALL, [], "exactly one of input__0 and encoded_image, got none", id="no"),
            pytest.param(CALL, ["input__0", "encoded_image"], "got .'input__0', 'enc", id="both"),
            pytest.param(CALL, ["crop"], r"got \['crop'\]", id="another model's"),
            pytest.param(CROP, [], "wanted crop alone, got none", id="no crop"),
            pytest.param(CROP, ["input__0"], "wanted crop alone, got", id="picture as crop"),
        ],
    )
    def test_a_call_has_one_input(
        self, call: InferenceRequest, names: list[str], message: str
    ) -> None:
        inputs = tuple(pixels(2, 3, 3, name=name) for name in names)
        with pytest.raises(RequestError, match=message):
            check(replace(call, inputs=inputs), LIMITS)


@pytest.mark.parametrize("model", ["", "yolo", "plate_recognition ", "x" * 10_000])
def test_another_model_is_not_served(model: str) -> None:
    with pytest.raises(NotFound, match="wanted one of plate_recognition, ") as raised:
        check_served(model, "", GatewayOptions().served)
    assert len(str(raised.value)) < 150


@pytest.mark.parametrize("version", ["latest", "1" * 10, "٣", "-1"])
def test_a_version_is_a_number(version: str) -> None:
    with pytest.raises(NotFound, match="version: wanted a number, got"):
        check_served(MODEL, version, GatewayOptions().served)


def test_the_operators_models_are_served() -> None:
    served = GatewayOptions(has_plates=False, models=("double",)).served
    check_served("double", "2", served)
    with pytest.raises(NotFound, match=r"^model: wanted one of double, got 'plate_recognition'$"):
        check_served(MODEL, "", served)


def test_every_output_of_a_model_may_be_wanted() -> None:
    check(replace(CALL, outputs=tuple(OUTPUTS)), LIMITS)
    check(replace(CROP, outputs=OF_A_READING), LIMITS)


@pytest.mark.parametrize(("call", "output"), [(CALL, "output__0"), (CROP, "coordinates")])
def test_an_output_of_another_model_is_refused(call: InferenceRequest, output: str) -> None:
    with pytest.raises(RequestError, match=f"outputs: wanted some of .*, got '{output}'"):
        check(replace(call, outputs=("texts", output)), LIMITS)


def test_parameters_are_handed_on() -> None:
    parameters = {"max_plates": 1000, "roi": "0,0,9,9", "text_threshold": "0.5"}
    assert check(replace(CALL, parameters=parameters), LIMITS).parameters == parameters
    assert check(replace(CROP, parameters={"text_threshold": 0.2}), LIMITS)


def test_the_timeout_of_a_request_and_a_flag_of_triton_are_no_parameters_of_the_model() -> None:
    parameters = {"a": 1, "timeout": 2_500_000, "triton_enable_empty_final_response": True}
    call = take_timeout(replace(CALL, parameters=parameters))
    assert (call.parameters, call.timeout_s) == ({"a": 1}, 2.5)
    assert take_timeout(CALL) == CALL


@pytest.mark.parametrize(
    ("call", "parameters", "message"),
    [
        pytest.param(CALL, {"priority": 1}, "got priority", id="unknown"),
        pytest.param(CALL, {"max_plates": 1001}, "wanted 1 to 1000, got 1001", id="range"),
        pytest.param(CROP, {"roi": "0,0,9,9"}, "some of text_threshold, got roi", id="reader"),
    ],
)
def test_a_wrong_parameter_is_refused(call: InferenceRequest, parameters, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        check(replace(call, parameters=parameters), LIMITS)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        pytest.param(
            {"triton_enable_empty_final_response": 1}, "true or false, got 1", id="of a stream"
        ),
        pytest.param({"timeout": 0}, "microseconds above 0, got 0", id="no time"),
        pytest.param({"timeout": True}, "microseconds above 0, got True", id="boolean"),
        pytest.param({"timeout": "9"}, "microseconds above 0, got '9'", id="text"),
        pytest.param({"timeout": 1.5}, "microseconds above 0, got 1.5", id="fraction"),
    ],
)
def test_a_wrong_timeout_is_refused(parameters, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        take_timeout(replace(CALL, parameters=parameters))


class TestBounds:
    def test_a_call_within_them_is_returned(self) -> None:
        full = replace(
            CALL,
            outputs=tuple(f"o{i}" for i in range(32)),
            parameters={f"p{i}": "x" * 1024 for i in range(32)},
            id="ж" * 256,
            version="123",
        )
        assert check_bounds(full) is full

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            pytest.param({"inputs": CALL.inputs * 9}, "inputs: wanted up to 8, got 9", id="inputs"),
            pytest.param({"inputs": CALL.inputs * 2}, "inputs: wanted each name once", id="twice"),
            pytest.param({"outputs": ("a",) * 33}, "outputs: wanted up to 32, got 33",
                         id="outputs"),
            pytest.param({"outputs": ("a", "b", "a")}, "outputs: wanted each name once",
                         id="output twice"),
            pytest.param({"outputs": ("",)}, "wanted names of 1 to 64 .* got ''", id="no name"),
            pytest.param({"outputs": ("a\n",)}, r"got 'a\\n'", id="line break"),
            pytest.param({"outputs": ("a" * 65,)}, "wanted names of 1 to 64", id="long name"),
            pytest.param({"parameters": {f"p{i}": 1 for i in range(33)}},
                         "parameters: wanted up to 32, got 33", id="parameters"),
            pytest.param({"parameters": {"a": "x" * 1025}}, "up to 1024 characters, got 1025",
                         id="long text"),
            pytest.param({"parameters": {"a": 2**63}}, "wanted a number of 64 bits", id="65 bits"),
            pytest.param({"parameters": {"a": float("inf")}}, "wanted a finite number",
                         id="infinity"),
            pytest.param({"id": "x" * 257}, "up to 256 printable characters", id="long id"),
            pytest.param({"id": "a\0"}, "up to 256 printable characters", id="control character"),
        ],
    )  # fmt: skip
    def test_too_much_of_anything_is_refused(self, changes, message: str) -> None:
        with pytest.raises(RequestError, match=message) as raised:
            check_bounds(replace(CALL, **changes))
        assert len(str(raised.value)) < 200
