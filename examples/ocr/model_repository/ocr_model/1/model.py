from examples.ocr.networks import read, read_alphabet, recognise
from examples.ocr.steps import Array, postprocess_0, postprocess_1, preprocess
from orchestrator.networks.openvino_ir import Compiled
from orchestrator.triton.functions import Function, model_of


def prepare() -> Function:
    detector, recogniser, alphabet = Compiled(read("det")), Compiled(read("rec")), read_alphabet()

    def read_text(file: Array) -> tuple[Array]:
        """Run all steps of the ensemble's models in one process."""
        picture, detector_input = preprocess(file)
        crops, *lines = postprocess_0(picture, *detector(detector_input))
        return postprocess_1(alphabet, *recognise(recogniser, crops), *lines)

    return read_text


TritonPythonModel = model_of(prepare)
