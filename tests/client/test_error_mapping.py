"""Server messages become errors that a caller can act on."""

import pytest
from tritonclient.utils import InferenceServerException

from orchestrator.client.error_mapping import translate_errors
from orchestrator.errors import PictureError, RequestError
from orchestrator.imaging.decoding import decode
from tests.fuzzing.hostile_bombs import bombs
from tests.fuzzing.hostile_metadata import metadata
from tests.fuzzing.hostile_pictures import damaged, truncated

REFUSED = ["400", "StatusCode.INVALID_ARGUMENT"]


def fault_of(message: str, status: str) -> Exception:
    with pytest.raises(RequestError) as raised, translate_errors("localhost:8000", 1, "1f2e"):
        raise InferenceServerException(message, status=status)
    return raised.value


def refusals() -> set[str]:
    """Return the service's error messages about hostile pictures."""
    said = set()
    for file in [b"", b"%PDF-1.7", *{**bombs(), **metadata(), **damaged(), **truncated()}.values()]:
        try:
            decode(file)
        except PictureError as error:
            said.add(str(error))
    return said


@pytest.mark.parametrize("status", REFUSED)
def test_all_that_the_service_says_of_pictures_is_a_picture_error(status: str) -> None:
    said = refusals()
    assert len(said) > 10
    assert {type(fault_of(message, status)) for message in said} == {PictureError}


@pytest.mark.parametrize("status", REFUSED)
@pytest.mark.parametrize(
    "message",
    [
        "encoded_image: wanted BYTES [1], got BYTES [2]",
        "encoded_image: wanted a picture that takes up to 600 MiB to unpack, got one of 1x1 pixels",
        "encoded_crop: wanted BYTES [1], got BYTES [2]",
        "input__0: wanted UINT8 [height, width, 3], got UINT8 [0, 0, 3]",
        "picture size: wanted 1 to 50000000 pixels, got 9000x9000 pixels",
        "[request id: 1f2e] encoded_image: damaged 3x3 picture",
        "in ensemble 'plate_reader', crop: wanted 1 to 16000000 pixels, got 5000x5000 pixels",
    ],
)
def test_a_refused_picture_is_told_with_the_servers_words(message: str, status: str) -> None:
    fault = fault_of(message, status)
    assert type(fault) is PictureError
    assert str(fault) == f"{message.removeprefix('[request id: 1f2e] ')} (request 1f2e)"


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ("max_plates: wanted 1 to 100, got 1000", "400"),
        ("inputs: wanted exactly one of input__0 and encoded_image, got none", "400"),
        ("unexpected shape for input 'input__0'", "StatusCode.INVALID_ARGUMENT"),
        ("the call ended 2 workers, one after the other", "400"),
        ("encoded_image: wanted a key", "401"),
    ],
)
def test_other_refusals_are_the_requests_fault(message: str, status: str) -> None:
    assert type(fault_of(message, status)) is RequestError
