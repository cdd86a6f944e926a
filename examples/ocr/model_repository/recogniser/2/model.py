from functools import partial

from examples.ocr.networks import read, recognise
from orchestrator.networks.openvino_ir import Compiled
from orchestrator.triton.functions import model_of

TritonPythonModel = model_of(lambda: partial(recognise, Compiled(read("rec"))))
