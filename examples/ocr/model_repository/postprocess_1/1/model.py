from functools import partial

from examples.ocr.networks import read_alphabet
from examples.ocr.steps import postprocess_1
from orchestrator.triton.functions import model_of

TritonPythonModel = model_of(lambda: partial(postprocess_1, read_alphabet()))
