"""The Triton model `plate_recognition` behind a gate: each call waits before its execution."""

import json
import time
import uuid
from pathlib import Path

from orchestrator.triton.plate_recognition import TritonPythonModel as Ungated


class TritonPythonModel(Ungated):
    """Reports each call, and each cancellation that Triton passes on."""

    def initialize(self, args: dict[str, str]) -> None:
        super().initialize(args)
        gate = json.loads(args["model_config"])["parameters"]["GATE"]["string_value"]
        self.gate = Path(gate)

    def execute(self, requests: list) -> list:
        (request,) = requests
        here = self.gate.with_name(f"{self.gate.name}.{uuid.uuid4()}")
        here.touch()
        with self.heartbeat.work([request.request_id()]), self.heartbeat.wait():
            while not self.gate.exists():
                time.sleep(0.01)
                if request.is_cancelled():
                    here.with_suffix(".cancelled").touch()
        return super().execute(requests)
