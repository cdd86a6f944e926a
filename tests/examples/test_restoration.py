"""Two chains with a common first and last step: exact pixels, any size, loading on demand."""

import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from tritonclient.grpc import InferenceServerClient
from tritonclient.utils import InferenceServerException

from examples.restoration.__main__ import (
    CHAINS,
    COUNT,
    REPOSITORY,
    SEED,
    Administrator,
    list_ready,
    restore,
)
from examples.restoration.modules import Finish, Prepare, Sharpener
from examples.restoration.pictures import Pair, render_pair
from examples.restoration.quality import Quality, measure_quality
from examples.restoration.train import NETWORKS, path_of, stack
from orchestrator import load_networks
from orchestrator.serving.supervisor.local_server import own_server
from orchestrator.serving.supervisor.options import ServerOptions

README = (REPOSITORY.parent / "README.md").read_text()
SIZES_HW = [(1, 1), (1, 2), (2, 1), (31, 47), (32, 47), (31, 48), (64, 192), (101, 203)]
PARITIES_HW = [(1, 1), (31, 47), (32, 47), (31, 48), (32, 48)]
"""Heights and widths, odd and even, because the networks halve them."""
OF_THE_FIRST_12 = {
    "blurred": (20.07, 0.674, 9),
    CHAINS[0]: (21.46, 0.783, 10),
    CHAINS[1]: (21.73, 0.800, 10),
}
"""Figures of the first 12 plates: PSNR in dB, SSIM, and the number of plates read."""
SMALL, LARGE = CHAINS
SHARED = ["finish", "prepare"]
OWN_PART = {SMALL: "sharpen_small", LARGE: "sharpen_large"}


def random_picture(*size_hw: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (*size_hw, 3), np.uint8)


@cache
def load_module(name: str) -> torch.jit.ScriptModule:
    return torch.jit.load(path_of(name)).eval()


@torch.inference_mode()
def in_process(name: str, bgr: np.ndarray) -> np.ndarray:
    steps = [load_module("prepare"), load_module(name), load_module("finish")]
    answer = torch.from_numpy(bgr)
    for step in steps:
        answer = step(answer)
    return answer.numpy()


@pytest.mark.parametrize("size_hw", SIZES_HW)
def test_prepare_is_exact_to_the_pixel(size_hw: tuple[int, int]) -> None:
    bgr = random_picture(*size_hw)
    before = bgr.copy()
    net = load_module("prepare")(torch.from_numpy(bgr)).numpy()
    rgb = cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB).astype(np.float32)
    expected_net = (rgb / np.float32(127.5) - np.float32(1)).transpose(2, 0, 1)[None]
    assert net.dtype == np.float32
    np.testing.assert_array_equal(net, expected_net)
    np.testing.assert_array_equal(bgr, before)


@pytest.mark.parametrize("size_hw", SIZES_HW)
def test_finish_is_exact_to_the_pixel_beyond_the_range_too(size_hw: tuple[int, int]) -> None:
    net = np.random.default_rng(1).uniform(-1.5, 1.5, (1, 3, *size_hw)).astype(np.float32)
    levels = np.rint((net[0] + np.float32(1)) * np.float32(127.5)).clip(0, 255).astype(np.uint8)
    expected_bgr = cv2.cvtColor(np.ascontiguousarray(levels.transpose(1, 2, 0)), cv2.COLOR_RGB2BGR)
    np.testing.assert_array_equal(
        load_module("finish")(torch.from_numpy(net)).numpy(), expected_bgr
    )


@cache
def source_of(name: str) -> Sharpener:
    """Return a network from its source code, with the weights of its file."""
    network = Sharpener(*NETWORKS[name])
    network.load_state_dict(load_module(name).state_dict())
    return network.eval()


@pytest.mark.parametrize(("name", "module"), [("prepare", Prepare), ("finish", Finish)])
def test_a_committed_step_is_the_sources(name: str, module: type[torch.nn.Module]) -> None:
    assert load_module(name).code == torch.jit.script(module()).code


@pytest.mark.parametrize("name", NETWORKS)
def test_a_committed_network_is_small_and_the_sources_at_every_size(name: str) -> None:
    source = source_of(name)
    nets = [stack([random_picture(*size_hw)]) for size_hw in PARITIES_HW]
    with torch.inference_mode():
        answers = [load_module(name)(net) for net in nets]
        source_answers = [source(net) for net in nets]
    assert [answer.shape for answer in answers] == [net.shape for net in nets]
    assert [*map(torch.equal, answers, source_answers)] == [True] * len(nets)
    assert load_module(name).code == torch.jit.script(source).code
    assert path_of(name).stat().st_size <= 500_000


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    """The first plates that the example evaluates, as pairs of pictures."""
    rng = np.random.default_rng(SEED)
    return [render_pair(rng) for _ in range(12)]


def test_the_committed_networks_are_those_that_the_readme_tells_of(pairs: list[Pair]) -> None:
    """After a change of the networks, `make example-restoration` prints the new lines."""
    infer, blurred = load_networks(), [pair.blurred for pair in pairs]
    pictures = {
        "blurred": blurred,
        SMALL: [in_process("sharpen_small", picture) for picture in blurred],
        LARGE: [in_process("sharpen_large", picture) for picture in blurred],
    }
    qualities = {name: measure_quality(pairs, many, infer) for name, many in pictures.items()}
    assert qualities == {
        name: Quality(
            pytest.approx(psnr, abs=0.02),
            pytest.approx(ssim, abs=0.002),
            pytest.approx(plates, abs=1),
        )
        for name, (psnr, ssim, plates) in OF_THE_FIRST_12.items()
    }


@pytest.mark.parametrize("name", ["blurred", SMALL, LARGE])
def test_the_readme_has_the_lines_of_the_example(name: str) -> None:
    line = next(line for line in README.splitlines() if line.startswith(f"{name}: "))
    psnr, ssim, plates = re.findall(r"[\d.]+", line)[:3]
    assert line == f"{name}: {Quality(float(psnr), float(ssim), int(plates))} of {COUNT}"


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerOptions]:
    """The options of a server with a copy of the repository and no loaded models."""
    folder = Path(shutil.copytree(REPOSITORY, tmp_path_factory.mktemp("copy") / "models"))
    with own_server(ServerOptions(repository=folder, explicit=True)) as options:
        yield options


@pytest.fixture
def client(options: ServerOptions) -> Iterator[InferenceServerClient]:
    with InferenceServerClient(options.grpc_url) as client:
        client.register_plugin(Administrator(options.admin_headers))
        yield client


def hold(client: InferenceServerClient, *chains: str) -> None:
    """Load these chains with their parts, and unload all others. Loaded models stay loaded.

    The order of the tests is chosen so that few networks are loaded again.
    """
    names = {part for chain in chains for part in (*SHARED, chain, OWN_PART[chain])}
    for name in sorted({*list_ready(client)} - names, key=lambda name: name not in CHAINS):
        client.unload_model(name)
    for chain in {*chains} - {*list_ready(client)}:
        client.load_model(chain)
    assert {*list_ready(client)} == names


@pytest.mark.server
def test_nothing_is_loaded_unasked(client: InferenceServerClient) -> None:
    assert list_ready(client) == []
    with pytest.raises(InferenceServerException, match="unknown model: 'restoration_small'"):
        restore(client, SMALL, random_picture(8, 8))


@pytest.mark.server
def test_loading_a_chain_loads_its_parts(client: InferenceServerClient) -> None:
    hold(client)
    client.load_model(SMALL)
    assert list_ready(client) == [*SHARED, SMALL, "sharpen_small"]
    assert client.is_model_ready(SMALL)


@pytest.mark.server
def test_an_empty_picture_is_the_callers_fault(client: InferenceServerClient) -> None:
    hold(client, SMALL)
    assert restore(client, SMALL, random_picture(5, 8)).shape == (5, 8, 3)
    with pytest.raises(
        InferenceServerException, match="picture: wanted pixels, got none"
    ) as raised:
        restore(client, SMALL, random_picture(0, 8))
    assert raised.value.status() == "StatusCode.INVALID_ARGUMENT"


@pytest.mark.server
def test_a_chain_answers_as_its_parts_in_process(client: InferenceServerClient) -> None:
    hold(client, LARGE)
    pictures = [random_picture(*size_hw) for size_hw in SIZES_HW]
    answers = [restore(client, LARGE, bgr).astype(int) for bgr in pictures]
    process_answers = [in_process("sharpen_large", bgr) for bgr in pictures]
    assert [answer.shape for answer in answers] == [
        process_answer.shape for process_answer in process_answers
    ]
    assert (
        max(
            np.abs(answer - process_answer).max()
            for answer, process_answer in zip(answers, process_answers, strict=True)
        )
        <= 1
    )
