"""The way of a picture as a Triton model of its own: yolo -> stn -> lprnet through BLS."""

from pathlib import Path

REPOSITORY = Path(__file__).with_name("model_repository")
