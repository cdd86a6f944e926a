"""Preparation of a server's files, which are kept as long as it is served."""

from pathlib import Path

import pytest

from orchestrator.serving.supervisor import local_server
from orchestrator.serving.supervisor.options import ServerOptions


@pytest.fixture(autouse=True)
def _quick(monkeypatch) -> None:
    """Replace the export of networks, so that the repository is an empty folder."""
    monkeypatch.setattr(local_server, "export_apart", lambda *_, **__: [])
    monkeypatch.setattr(local_server, "lay_out", lambda _source, target, *_, **__: target)


def test_what_is_served_goes_with_who_serves_it() -> None:
    with local_server.keep_models(ServerOptions(device="cpu")) as models:
        assert models.parent.is_dir()
    assert not models.parent.exists()


def test_an_error_while_it_is_served_stays_what_it_is() -> None:
    with (
        pytest.raises(OSError, match=r"^theirs$"),
        local_server.keep_models(ServerOptions(device="cpu")),
    ):
        raise OSError("theirs")


def test_a_repository_that_is_served_as_it_lies_is_given_itself(tmp_path: Path) -> None:
    options = ServerOptions(repository=tmp_path, device="cpu")
    with local_server.keep_models(options) as models:
        assert models == tmp_path
