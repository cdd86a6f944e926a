"""Fixtures that more than one test module uses."""

import gc
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from orchestrator.host.loopback import without_proxy
from tests.client.client_only import ClientOnly
from tests.samples import PROJECT

OF_A_SERVER = {"integration", "browser"}
"""Folders whose tests all need a real server or browser. Other tests bear the marker themselves."""
SHARING = (
    "tests/browser/test_",
    "tests/docs/test_site",
    "tests/examples/test_",
    "tests/integration/shared_server/",
    "tests/pipeline/test_",
)
"""Beginnings of the names of files that share an expensive fixture: one process runs them all."""
PHOTOS = Path(os.environ.get("PLATES_PHOTOS", PROJECT.parent / "shared" / "data"))

# A change fails by its own faults alone: the inputs of properties are the same in each run.
# `make nightly` and `make fuzz` draw new ones, by `--hypothesis-profile default`.
settings.register_profile("same inputs", derandomize=True, database=None)
settings.load_profile("same inputs")

# Threads of PyTorch wait for each other in a loop that keeps a core busy, which other processes of
# the tests could use: on two busy cores, networks took six times the CPU time. OpenMP reads this
# when PyTorch is imported; children inherit it.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def _import_grpc_without_forks() -> None:
    """Switch off gRPC's support for forks in this process alone, which starts services.

    gRPC restarts its threads in the child of a fork. There they poll descriptors that the child
    closes before it becomes another program, and now and then that ends the child. gRPC reads the
    variable when it is imported.
    """
    assert "grpc" not in sys.modules
    os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"
    importlib.import_module("grpc")
    del os.environ["GRPC_ENABLE_FORK_SUPPORT"]


_import_grpc_without_forks()


def pytest_configure(config: pytest.Config) -> None:
    """Hide GPUs, unless `-m gpu` chooses their tests."""
    if config.option.markexpr != "gpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect no garbage while tests are imported, and leave the imported modules out later.

    Nearly all objects of this phase stay until the end, and each collection would look at all.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests of servers, and put files with such tests first: they take longest."""
    for item in items:
        if OF_A_SERVER & {*item.path.parts}:
            item.add_marker(pytest.mark.server)
    of_servers = {item.path for item in items if item.get_closest_marker("server")}
    items.sort(key=lambda item: item.path not in of_servers)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each file to one process, and files that share an expensive fixture to the same one."""
    from xdist.scheduler import LoadFileScheduling

    class SharedFixtureScheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return next((group for group in SHARING if file.startswith(group)), file)

    return SharedFixtureScheduling(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(scope="session", autouse=True)
def _no_proxy() -> None:
    """Let plain clients reach loopback where this shell has a proxy."""
    os.environ.update(without_proxy(os.environ))


@pytest.fixture(autouse=True)
def _keep_subnormal_numbers() -> Iterator[None]:
    """Let the processor keep subnormal numbers again, which workers and trainings switch off."""
    yield
    if torch := sys.modules.get("torch"):
        torch.set_flush_denormal(False)


@pytest.fixture(scope="session")
def photos() -> Path:
    """The folder of real photos, which are not part of the project: they show people's plates."""
    if not PHOTOS.is_dir():
        pytest.skip(f"real photos: none in {PHOTOS}; set PLATES_PHOTOS to their folder")
    return PHOTOS


@pytest.fixture(scope="session")
def client_only(tmp_path_factory: pytest.TempPathFactory) -> ClientOnly:
    """A Python without the packages that only serving needs."""
    return ClientOnly(tmp_path_factory.mktemp("site"))
