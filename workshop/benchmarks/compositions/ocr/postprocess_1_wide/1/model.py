"""Triton's entry to the step that selects the most probable characters itself."""

from functools import partial

from examples.ocr.networks import read_alphabet
from orchestrator.triton.functions import model_of
from workshop.benchmarks.compositions.ocr_models import pick

TritonPythonModel = model_of(lambda: partial(pick, read_alphabet()))
