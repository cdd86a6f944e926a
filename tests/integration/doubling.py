"""A small Triton model for tests: it doubles numbers."""

from pathlib import Path

MODEL = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        x = pb_utils.get_input_tensor_by_name(request, "x").as_numpy()
        return pb_utils.InferenceResponse([pb_utils.Tensor("y", x * 2)])
"""


def write_doubling(repository: Path, name: str, datatype: str, more: str = "") -> None:
    """Write the model to a repository.

    Args:
        repository: The repository; the model's folder is made in it.
        name: The name of the model.
        datatype: The type of its numbers, as config.pbtxt has it: `TYPE_INT32`.
        more: Further text of its config.pbtxt.
    """
    folder = repository / name
    (folder / "1").mkdir(parents=True)
    (folder / "1" / "model.py").write_text(MODEL)
    (folder / "config.pbtxt").write_text(
        f"""
backend: "python"
max_batch_size: 0
input [ {{ name: "x" data_type: {datatype} dims: [ -1 ] }} ]
output [ {{ name: "y" data_type: {datatype} dims: [ -1 ] }} ]
{more}
"""
    )
