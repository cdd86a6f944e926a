"""Clients and test pictures of the predecessor of this service."""

import csv
from pathlib import Path

import cv2
import pytest
import tritonclient.http as httpclient

from orchestrator import PlateClient

pytestmark = pytest.mark.photos


def test_its_client_works_word_for_word(server, photos: Path) -> None:
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


def test_the_cat_has_no_plate(client: PlateClient, photos: Path) -> None:
    assert len(client.recognize(photos / "ancestor" / "cat.jpeg")) == 0


def test_real_plates_are_read(client: PlateClient, photos: Path) -> None:
    with (photos / "scenes" / "labels.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["type"] == "std"][:24]
    folder = photos / "scenes" / "images"
    right = sum(row["text"] in client.recognize(folder / row["image"]).texts for row in rows)
    assert right >= 20, f"{right} of {len(rows)}"
