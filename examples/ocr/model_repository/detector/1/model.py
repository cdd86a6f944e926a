from examples.ocr.networks import read
from orchestrator.networks.openvino_ir import Compiled
from orchestrator.triton.functions import model_of

TritonPythonModel = model_of(lambda: Compiled(read("det")))
