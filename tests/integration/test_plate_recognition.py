"""`plate_recognition` on a real Triton server, over HTTP and gRPC."""

import base64
import csv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from tritonclient.utils import InferenceServerException

from orchestrator import PlateClient, load_networks, recognize
from orchestrator.boxes import iou
from orchestrator.contract import ENCODED, MODEL, OUTPUTS, PICTURE, from_arrays
from orchestrator.errors import RequestError, ServerError
from rendering.scenery import scene

DATA = Path(__file__).resolve().parents[1] / "data"
GREY = np.full((300, 400, 3), 128, np.uint8)


def labels_of(name: str) -> list[str]:
    with (DATA / "labels.csv").open() as file:
        return [row["text"] for row in csv.DictReader(file) if row["image"] == name]


def picture_input(wire, bgr: np.ndarray, name: str = PICTURE):
    kinds = {"uint8": "UINT8", "float32": "FP32"}
    tensor = wire.module.InferInput(name, list(bgr.shape), kinds[str(bgr.dtype)])
    tensor.set_data_from_numpy(bgr)
    return tensor


def png_of(picture: np.ndarray) -> bytes:
    return cv2.imencode(".png", picture)[1].tobytes()


def file_input(wire, *files: bytes):
    tensor = wire.module.InferInput(ENCODED, [len(files)], "BYTES")
    tensor.set_data_from_numpy(np.array(files, dtype=np.object_))
    return tensor


class TestAnswers:
    def test_the_sample_street_is_read(self, client: PlateClient) -> None:
        plates = client.recognize(DATA / "street.jpg")
        assert sorted(plates.texts) == sorted(labels_of("street.jpg"))

    def test_a_plain_picture_has_no_plates_and_every_output_the_right_rank(
        self, wire, triton
    ) -> None:
        answer = triton.infer(MODEL, [picture_input(wire, GREY)])
        shapes = {name: answer.as_numpy(name).shape for name in OUTPUTS}
        assert shapes == {name: (0, *output.row_shape) for name, output in OUTPUTS.items()}

    def test_an_empty_street_has_no_plates(self, client: PlateClient) -> None:
        assert len(client.recognize(scene([], (1280, 960), seed=1).picture)) == 0

    def test_forty_plates_in_one_picture_are_all_found(self, client: PlateClient) -> None:
        texts = [f"{'ABEKMHOPCTYX'[i % 12]}{i:03}MM{77 + i % 20}" for i in range(40)]
        street = scene(texts, (1920, 1440), seed=5)
        plates = client.recognize(street.picture)
        overlaps = iou(
            torch.tensor([plate.xyxy for plate in plates]), torch.from_numpy(street.xyxy)
        )
        best, which = overlaps.max(dim=1)
        assert len(plates) == 40
        assert (best > 0.5).all()
        assert sorted(which.tolist()) == list(range(40))
        pairs = zip(plates, which.tolist(), strict=True)
        right = sum(plate.text == street.texts[index] for plate, index in pairs)
        assert right >= 36

    def test_the_same_picture_as_tensor_and_as_file_gives_the_same_answer(
        self, client: PlateClient
    ) -> None:
        bgr = scene(["A123BC77"], (800, 600), seed=2).picture
        png = png_of(bgr)
        assert client.recognize(png) == client.recognize(bgr)

    def test_a_colour_file_is_not_read_with_red_and_blue_exchanged(self, wire, triton) -> None:
        bgr = scene(["TO12377"], (800, 600), seed=2).picture
        png = png_of(bgr)
        answers = [
            triton.infer(MODEL, [given]).as_numpy("detection_scores")
            for given in (file_input(wire, png), picture_input(wire, bgr))
        ]
        assert np.array_equal(*answers)

    def test_the_server_answers_what_the_pipeline_answers_in_process(
        self, client: PlateClient
    ) -> None:
        bgr = scene(["A123BC77", "M456OP199", "E777KX78"], (1280, 960), seed=4).picture
        served = client.recognize(bgr)
        local = recognize(torch.from_numpy(bgr), load_networks())
        assert served.texts == local.texts
        for ours, theirs in zip(served, local, strict=True):
            assert ours.xyxy == pytest.approx(theirs.xyxy, abs=0.05)
            assert ours.text_score == pytest.approx(theirs.text_score, abs=1e-3)
            assert np.allclose(ours.corners, theirs.corners, atol=0.1)

    @pytest.mark.parametrize("prefix", [b"", b"data:image/png;base64,"])
    def test_base64_text_is_read_as_the_file_it_stands_for(
        self, client: PlateClient, prefix: bytes
    ) -> None:
        png = png_of(scene(["A123BC77"], (800, 600), seed=2).picture)
        assert client.recognize(prefix + base64.encodebytes(png)) == client.recognize(png)

    def test_only_requested_outputs_are_sent(self, wire, triton) -> None:
        wanted = [wire.module.InferRequestedOutput("texts")]
        answer = triton.infer(MODEL, [picture_input(wire, GREY)], outputs=wanted)
        assert answer.as_numpy("texts").shape == (0, 1)
        assert answer.as_numpy("coordinates") is None

    def test_parameters_override_settings_for_one_request(self, client: PlateClient) -> None:
        street = scene(["A123BC77", "M456OP199"], (1280, 960), seed=3)
        assert len(client.recognize(street.picture, max_plates=1)) == 1
        assert client.recognize(street.picture, text_threshold=1.0).texts == ["", ""]
        assert len(client.recognize(street.picture, detection_threshold=1.0)) == 0
        x0, y0, x1, y1 = street.xyxy[0].tolist()
        around = (x0 - 100, y0 - 100, x1 + 100, y1 + 100)
        assert client.recognize(street.picture, roi=around).texts == [street.texts[0]]
        assert len(client.recognize(street.picture)) == 2

    @pytest.mark.parametrize("size_hw", [(1, 1), (1, 5000), (5000, 1), (31, 33)])
    def test_a_picture_of_an_odd_size_is_answered(self, client: PlateClient, size_hw) -> None:
        assert len(client.recognize(np.full((*size_hw, 3), 90, np.uint8))) == 0

    def test_what_the_protocol_adds_to_a_request_is_no_unknown_parameter(
        self, wire, triton
    ) -> None:
        answer = triton.infer(
            MODEL,
            [picture_input(wire, GREY)],
            request_id="gate-7",
            priority=1,
            timeout=60_000_000,
        )
        assert answer.as_numpy("texts").shape == (0, 1)

    def test_concurrent_callers_with_pictures_of_all_sizes_each_get_their_own(self, wire) -> None:
        sizes = [(640, 480), (1280, 720), (800, 800), (960, 1280), (1000, 640), (1920, 1080)]
        letters = "ABEKMHOPCTYX"
        streets = [
            scene([f"{letters[i]}{i}{i}{i}{letters[-i - 1]}X{70 + i}"], size, seed=i)
            for i, size in enumerate(sizes)
        ]

        def call(index: int) -> list[str]:
            with PlateClient(wire.url) as mine:
                found = mine.recognize(streets[index % len(streets)].picture)
            return [plate.text for plate in found if plate.text]

        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(call, range(24)))
        assert answers == [list(streets[i % len(streets)].texts) for i in range(24)]


class TestBadRequests:
    """Each is answered with INVALID_ARG that says what was wanted, and the next call is fine."""

    @pytest.mark.parametrize(
        ("inputs", "parameters", "message"),
        [
            pytest.param(
                lambda w: [picture_input(w, GREY.astype(np.float32))],
                None,
                "data-type is 'FP32', but .* expects 'UINT8'",
                id="dtype",
            ),
            pytest.param(
                lambda w: [picture_input(w, GREY[..., 0])], None, "unexpected shape", id="grey"
            ),
            pytest.param(
                lambda w: [picture_input(w, GREY[None])], None, "unexpected shape", id="batch"
            ),
            pytest.param(
                lambda w: [picture_input(w, np.zeros((5, 5, 4), np.uint8))],
                None,
                "unexpected shape",
                id="four channels",
            ),
            pytest.param(
                lambda w: [picture_input(w, GREY), file_input(w, b"x")],
                None,
                "exactly one of input__0 and encoded_image, got both",
                id="both inputs",
            ),
            pytest.param(
                lambda w: [picture_input(w, GREY, name="picture")],
                None,
                "unexpected inference input 'picture'",
                id="unknown input",
            ),
            pytest.param(
                lambda w: [file_input(w, b"not a picture")],
                None,
                "wanted a JPEG, PNG, WebP or BMP file, got 13 bytes",
                id="no picture",
            ),
            pytest.param(
                lambda w: [file_input(w, b"iVBORw0KGgo*")],
                None,
                "wanted the base64 text of a picture file, got 12 damaged characters",
                id="damaged base64",
            ),
            pytest.param(
                lambda w: [
                    file_input(w, base64.b64encode(png_of(np.zeros((8000, 8000), np.uint8))))
                ],
                None,
                "wanted 1 to 50000000 pixels, got 8000x8000",
                id="too large in base64",
            ),
            pytest.param(
                lambda w: [file_input(w, b"")],
                None,
                "wanted a JPEG, PNG, WebP or BMP file, got 0 bytes",
                id="empty file",
            ),
            pytest.param(
                lambda w: [file_input(w, b"x", b"y")], None, "unexpected shape", id="two files"
            ),
            pytest.param(
                lambda w: [file_input(w, png_of(np.zeros((8000, 8000), np.uint8)))],
                None,
                "wanted 1 to 50000000 pixels, got 8000x8000",
                id="too large",
            ),
            pytest.param(
                lambda w: [picture_input(w, GREY)],
                {"threshold": 0.5},
                "parameters: wanted some of detection_threshold, .* got threshold",
                id="unknown parameter",
            ),
            pytest.param(
                lambda w: [picture_input(w, GREY)],
                {"detection_threshold": 2.0},
                "detection_threshold: wanted 0 to 1, got 2.0",
                id="out of range",
            ),
            pytest.param(
                lambda w: [picture_input(w, GREY)],
                {"max_plates": True},
                "max_plates: wanted a number",
                id="boolean",
            ),
            pytest.param(
                lambda w: [picture_input(w, GREY)],
                {"roi": "500,500,600,600"},
                "roi: wanted a part of the 400x300 picture",
                id="region outside",
            ),
        ],
    )
    def test_is_refused(self, wire, triton, inputs, parameters, message: str) -> None:
        with pytest.raises(InferenceServerException, match=message) as caught:
            triton.infer(MODEL, inputs(wire), parameters=parameters)
        assert caught.value.status() in {"400", "StatusCode.INVALID_ARGUMENT"}
        assert triton.infer(MODEL, [picture_input(wire, GREY)]).as_numpy("texts").shape == (0, 1)

    def test_no_input_is_refused(self, wire, triton) -> None:
        with pytest.raises(InferenceServerException) as caught:
            triton.infer(MODEL, [])
        assert caught.value.status() in {"400", "StatusCode.INVALID_ARGUMENT"}

    def test_a_picture_without_pixels_is_refused(self, wire, triton) -> None:
        with pytest.raises(InferenceServerException) as caught:
            triton.infer(MODEL, [picture_input(wire, np.zeros((0, 10, 3), np.uint8))])
        assert caught.value.status() in {"400", "StatusCode.INVALID_ARGUMENT"}

    def test_our_client_says_it_in_our_words(self, client: PlateClient) -> None:
        with pytest.raises(RequestError, match="wanted a JPEG, PNG, WebP or BMP file"):
            client.recognize(b"not a picture")

    def test_bad_requests_among_good_ones_harm_none(self, wire) -> None:
        def call(index: int) -> int | str:
            with PlateClient(wire.url) as mine:
                try:
                    return len(mine.recognize(b"junk" if index % 3 == 0 else GREY))
                except RequestError:
                    return "refused"

        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(call, range(18)))
        assert answers == ["refused" if index % 3 == 0 else 0 for index in range(18)]


class TestComponents:
    def test_the_networks_are_models_of_their_own(self, wire, triton) -> None:
        crops = np.zeros((3, 3, 24, 94), np.float32)
        straight = triton.infer("stn", [picture_input(wire, crops)])
        assert straight.as_numpy("output__0").shape == (3, 3, 24, 94)
        assert straight.as_numpy("output__1").shape == (3, 2, 3)
        logits = triton.infer("lprnet", [picture_input(wire, crops)]).as_numpy("output__0")
        assert logits.shape == (3, 23, 18)

    def test_the_detector_takes_batches(self, wire, triton) -> None:
        net = np.full((2, 64, 96, 3), 114, np.uint8)
        rows = triton.infer("yolo", [picture_input(wire, net)]).as_numpy("output__0")
        assert rows.shape[0] == 2
        assert rows.shape[2] == 6

    def test_a_size_the_detector_cannot_take_is_refused_alone(self, wire, triton) -> None:
        with pytest.raises(InferenceServerException, match=r"cannot infer on \[1, 50, 70, 3\]"):
            triton.infer("yolo", [picture_input(wire, np.zeros((1, 50, 70, 3), np.uint8))])
        assert triton.infer("yolo", [picture_input(wire, np.zeros((1, 64, 64, 3), np.uint8))])


class TestAncestor:
    """Clients written for the service this one descends from, and its test pictures."""

    @pytest.mark.photos
    def test_its_client_works_word_for_word(self, server, photos: Path) -> None:
        import tritonclient.http as httpclient

        client = httpclient.InferenceServerClient(url=server.options.http_url)
        image = cv2.imread(str(photos / "ancestor" / "car.jpg"))
        inputs, outputs = [], []
        inputs.append(httpclient.InferInput("input__0", image.shape, "UINT8"))
        inputs[0].set_data_from_numpy(image)
        outputs.append(httpclient.InferRequestedOutput("coordinates", binary_data=False))
        outputs.append(httpclient.InferRequestedOutput("texts", binary_data=False))
        results = client.infer(model_name="plate_recognition", inputs=inputs, outputs=outputs)
        coordinates, texts = results.as_numpy("coordinates"), results.as_numpy("texts")
        client.close()
        assert "B840OK197" in texts.ravel().tolist()
        assert texts.shape == (len(coordinates), 1)
        assert (coordinates >= 0).all()
        assert (coordinates[:, [2, 3]] <= (image.shape[1], image.shape[0])).all()

    @pytest.mark.photos
    def test_the_van_is_read(self, client: PlateClient, photos: Path) -> None:
        assert "B840OK197" in client.recognize(photos / "ancestor" / "car.jpg").texts

    @pytest.mark.photos
    def test_the_cat_has_no_plate(self, client: PlateClient, photos: Path) -> None:
        assert len(client.recognize(photos / "ancestor" / "cat.jpeg")) == 0

    @pytest.mark.photos
    def test_real_plates_are_read(self, client: PlateClient, photos: Path) -> None:
        with (photos / "scenes" / "labels.csv").open() as file:
            rows = [row for row in csv.DictReader(file) if row["type"] == "std"][:24]
        folder = photos / "scenes" / "images"
        right = sum(row["text"] in client.recognize(folder / row["image"]).texts for row in rows)
        assert right >= 20, f"{right} of {len(rows)}"


def test_answers_survive_json(server, wire, triton) -> None:
    """With binary_data=False texts come as str: the arrays are still the same plates."""
    import tritonclient.http as http

    bgr = scene(["A123BC77"], (800, 600), seed=2).picture
    outputs = [http.InferRequestedOutput(name, binary_data=False) for name in OUTPUTS]
    tensor = http.InferInput(PICTURE, list(bgr.shape), "UINT8").set_data_from_numpy(bgr)
    with http.InferenceServerClient(server.options.http_url) as client:
        answer = client.infer(MODEL, [tensor], outputs=outputs)
    plates = from_arrays({name: answer.as_numpy(name) for name in OUTPUTS})
    assert plates.texts == ["A123BC77"]


def test_a_server_that_is_not_there_is_named(wire) -> None:
    url = "localhost:1" if "grpc" not in wire.url else "grpc://localhost:1"
    with PlateClient(url, timeout_s=5) as client:
        assert not client.is_ready()
        with pytest.raises(ServerError, match="wanted an answer"):
            client.recognize(GREY)


def test_the_client_knows_when_the_server_is_ready(client: PlateClient) -> None:
    assert client.is_ready()
