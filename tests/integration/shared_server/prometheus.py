"""A real Prometheus with the project's rules over a server's metrics."""

import json
import shutil
import subprocess
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from orchestrator.serving.supervisor.ports import free_ports
from tests.samples import PROJECT
from tests.waiting import until

RULES = PROJECT / "deploy" / "monitoring" / "rules.yaml"
SCRAPE_S = 2


def read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as response:
        return response.read().decode()


def ask(prometheus: str, path: str, **parameters: object) -> Any:
    """Return the answer of Prometheus' API."""
    return json.loads(read(f"{prometheus}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"))


@contextmanager
def watch(metrics_port: int) -> Iterator[str]:
    """Run Prometheus for a `with` block, which begins after the first scrape; yield its URL.

    The test is skipped where there is no Prometheus.
    """
    program = shutil.which("prometheus")
    if not program:
        pytest.skip("prometheus: none on the PATH; it is Debian's package of that name")
    (port,) = free_ports(1)
    target = {"targets": [f"localhost:{metrics_port}"]}
    config = {
        "global": {"scrape_interval": f"{SCRAPE_S}s", "evaluation_interval": f"{SCRAPE_S}s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [{"job_name": "plates", "static_configs": [target]}],
    }
    with tempfile.TemporaryDirectory(prefix="prometheus-") as folder:
        file = Path(folder, "prometheus.yaml")
        file.write_text(json.dumps(config))  # JSON is YAML, too
        options = {
            "config.file": file,
            "storage.tsdb.path": folder,
            "web.listen-address": f"127.0.0.1:{port}",
        }
        process = subprocess.Popen(
            [program, *(f"--{name}={value}" for name, value in options.items())],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            until(lambda: has_scraped(url), "a first look of Prometheus at the server")
            yield url
        finally:
            process.terminate()
            process.wait()


def has_scraped(prometheus: str) -> bool:
    try:
        return bool(ask(prometheus, "query", query="up")["data"]["result"])
    except OSError:
        return False
