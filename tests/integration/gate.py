"""A server whose calls wait at a gate, so that a test controls its state."""

import re
import shutil
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from google.protobuf import text_format
from tritonclient.grpc.model_config_pb2 import ModelConfig

from orchestrator.contract import DETECTOR, MODEL
from orchestrator.serving.supervisor.models.plate_models import CONFIG
from orchestrator.serving.supervisor.models.repository_writer import lay_out_ours
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.triton_server import Server

GATED = {
    DETECTOR: Path(__file__).with_name("gated_detector.py"),
    MODEL: Path(__file__).with_name("gated_recognition.py"),
}
PENDING = re.compile(rf'^nv_inference_pending_request_count{{model="{MODEL}",.*}} (\S+)$', re.M)


@dataclass(frozen=True)
class CallGate:
    """A gate at which calls wait; it consists of files in a folder."""

    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / "open"

    def open(self) -> None:
        self.path.touch()

    def close(self) -> None:
        """Close the gate, and forget earlier calls."""
        for file in self.folder.iterdir():
            file.unlink()

    def count_waiting(self) -> int:
        """Return the number of calls that have come to the gate."""
        return len(list(self.folder.glob("open.*-*")))


def write_gated(
    options: ServerOptions, target: Path, gate: CallGate, model: str = DETECTOR
) -> Path:
    """Write our model repository, with one model replaced by one that waits at the gate."""
    repository = lay_out_ours(options, target)
    path = repository / model / CONFIG
    config = text_format.Parse(path.read_text(), ModelConfig())
    config.backend = "python"
    config.instance_group[0].count = options.pictures
    config.parameters["GATE"].string_value = str(gate.path)
    del config.model_warmup[:]
    path.write_text(text_format.MessageToString(config))
    shutil.copy(GATED[model], repository / model / "1" / "model.py")
    return repository


def count_pending(server: Server) -> int:
    """Return the number of calls in the queue of `plate_recognition`, as Triton counts them."""
    with urllib.request.urlopen(server.options.metrics_url, timeout=10) as answer:
        return int(float(PENDING.search(answer.read().decode())[1]))
