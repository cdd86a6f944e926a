"""Russian number plates from one infer call on NVIDIA Triton."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator.client import PictureResult, PlateClient
    from orchestrator.client.aio import AsyncPlateClient
    from orchestrator.client.inference import InferenceRequest
    from orchestrator.client.supervision import to_supervision
    from orchestrator.client.transport import AsyncTransport, FakeTransport, Transport
    from orchestrator.errors import (
        Cancelled,
        DataError,
        ErrorResponse,
        ExtraError,
        ModelError,
        Overloaded,
        ParameterError,
        PictureError,
        PlateError,
        RequestError,
        ServerError,
        SettingsError,
        WeightsError,
    )
    from orchestrator.formats.plate_formats import Formats, read_formats
    from orchestrator.formats.transliteration import to_cyrillic, to_latin
    from orchestrator.imaging.decoding import decode, read_picture
    from orchestrator.imaging.drawing import annotate
    from orchestrator.networks.export import load_networks
    from orchestrator.pipeline import recognize
    from orchestrator.plates import Plate, PlateRegion, Plates
    from orchestrator.settings import Settings

_HOMES = {
    "AsyncPlateClient": "client.aio",
    "AsyncTransport": "client.transport",
    "Cancelled": "errors",
    "DataError": "errors",
    "ErrorResponse": "errors",
    "ExtraError": "errors",
    "FakeTransport": "client.transport",
    "Formats": "formats.plate_formats",
    "InferenceRequest": "client.inference",
    "ModelError": "errors",
    "Overloaded": "errors",
    "ParameterError": "errors",
    "PictureError": "errors",
    "Plate": "plates",
    "PlateClient": "client",
    "PlateError": "errors",
    "PlateRegion": "plates",
    "Plates": "plates",
    "PictureResult": "client",
    "RequestError": "errors",
    "ServerError": "errors",
    "Settings": "settings",
    "SettingsError": "errors",
    "Transport": "client.transport",
    "WeightsError": "errors",
    "annotate": "imaging.drawing",
    "decode": "imaging.decoding",
    "load_networks": "networks.export",
    "read_formats": "formats.plate_formats",
    "read_picture": "imaging.decoding",
    "recognize": "pipeline",
    "to_cyrillic": "formats.transliteration",
    "to_latin": "formats.transliteration",
    "to_supervision": "client.supervision",
}
__all__ = [
    "AsyncPlateClient",
    "AsyncTransport",
    "Cancelled",
    "DataError",
    "ErrorResponse",
    "ExtraError",
    "FakeTransport",
    "Formats",
    "InferenceRequest",
    "ModelError",
    "Overloaded",
    "ParameterError",
    "PictureError",
    "PictureResult",
    "Plate",
    "PlateClient",
    "PlateError",
    "PlateRegion",
    "Plates",
    "RequestError",
    "ServerError",
    "Settings",
    "SettingsError",
    "Transport",
    "WeightsError",
    "annotate",
    "decode",
    "load_networks",
    "read_formats",
    "read_picture",
    "recognize",
    "to_cyrillic",
    "to_latin",
    "to_supervision",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use: a client needs no torch, and a command no pandas."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    from orchestrator.host.distribution import explain_missing_package

    with explain_missing_package():
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """List the public names for editors, without importing them."""
    return sorted({*globals(), *__all__})
