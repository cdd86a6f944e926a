"""Triton's entry to the recogniser that outputs every probability."""

from functools import partial

from examples.ocr.networks import read
from orchestrator.networks.openvino_ir import Compiled
from orchestrator.triton.functions import model_of
from workshop.benchmarks.compositions.ocr_models import recognise

TritonPythonModel = model_of(lambda: partial(recognise, Compiled(read("rec"))))
