"""The Helm chart renders the manifests that Kustomize builds, with another image."""

import re

import pytest
import yaml

from deploy.helm_chart import make_chart
from tests.deploy.manifests import OVERLAYS, build, server

ACTION = re.compile(r"{{ (\S+)(?: \| quote)? }}")


def render(template: str, image: str) -> str:
    """Render the actions of our templates as Helm does; any other action is a KeyError."""
    values = {'"{{"': "{{", ".Values.image": f'"{image}"', ".Release.Service": "Helm"}
    return ACTION.sub(lambda action: values[action[1]], template)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_chart_renders_the_manifests_with_the_image_of_its_values(overlay: str) -> None:
    manifests = build(overlay).stdout
    files = make_chart(manifests)
    image = server(overlay)["image"]
    assert yaml.safe_load(files["values.yaml"]) == {"image": image}
    assert yaml.safe_load(files["Chart.yaml"])["version"] in image
    rendered = render(files["templates/manifests.yaml"], "mirror/plates@sha256:0")
    expected = manifests.replace(image, "mirror/plates@sha256:0").replace(": kustomize", ": Helm")
    assert list(yaml.safe_load_all(rendered)) == list(yaml.safe_load_all(expected))


def test_manifests_with_two_images_are_no_chart_of_ours() -> None:
    with pytest.raises(ValueError, match=r"wanted one image and a version, got \['a', 'b'\]"):
        make_chart("app.kubernetes.io/version: 1.0.0\n  image: a\n  image: b\n")
