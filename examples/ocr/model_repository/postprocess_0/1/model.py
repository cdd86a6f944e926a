from examples.ocr import steps
from orchestrator.triton.functions import model_of

TritonPythonModel = model_of(lambda: steps.postprocess_0)
