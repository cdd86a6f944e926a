"""Writes a Helm chart with the manifests that `kubectl kustomize` builds of an overlay.

The chart is made, not kept: the manifests stand in deploy/kubernetes alone. Its one value is the
image. Every other change is a patch of the overlay, as without Helm.

Example:
    python -m deploy.helm_chart cpu --out dist/chart
    helm upgrade --install plates dist/chart --namespace plates --set image=NAME@sha256:...
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

OVERLAYS = Path(__file__).with_name("kubernetes") / "overlays"
IMAGE = re.compile(r"(?<= image: )\S+")
VERSION = re.compile(r"app\.kubernetes\.io/version: (\S+)")
CHART = "apiVersion: v2\nname: plates\ndescription: {}\nversion: {version}\nappVersion: {version}\n"
DESCRIPTION = "Number plates from one infer call on NVIDIA Triton"


def make_chart(manifests: str) -> dict[str, str]:
    """Return the files of a chart, by their paths.

    Raises:
        ValueError: The pods have several images, or none.
    """
    images = set(IMAGE.findall(manifests))
    versions = VERSION.findall(manifests)
    if len(images) != 1 or not versions:
        raise ValueError(f"manifests: wanted one image and a version, got {sorted(images)}")
    template = manifests.replace("{{", '{{ "{{" }}')  # the braces of alerts are Prometheus's
    template = IMAGE.sub("{{ .Values.image | quote }}", template)
    template = template.replace("managed-by: kustomize", "managed-by: {{ .Release.Service }}")
    return {
        "Chart.yaml": CHART.format(DESCRIPTION, version=versions[0]),
        "values.yaml": f"image: {images.pop()}\n",
        "templates/manifests.yaml": template,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="deploy.helm_chart", description="Write a Helm chart.")
    parser.add_argument("overlay", help="folder of deploy/kubernetes/overlays, or of your own")
    parser.add_argument("--out", type=Path, required=True, help="folder of the chart")
    options = parser.parse_args(arguments)
    build = ["kubectl", "kustomize", OVERLAYS / options.overlay]
    manifests = subprocess.run(build, stdout=subprocess.PIPE, text=True, check=True).stdout
    for path, text in make_chart(manifests).items():
        file = options.out / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    sys.stdout.write(f"chart in {options.out}\n")


if __name__ == "__main__":
    main()
