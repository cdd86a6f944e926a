"""Networks with scripted answers, for `recognize`."""

from collections.abc import Mapping

import torch
from torch import Tensor

from orchestrator.formats.plate_formats import russian

IDENTITY = torch.tensor([[1.0, 0, 0], [0, 1, 0]])
ALPHABET, BLANK = russian().alphabet, russian().blank


def picture(height: int = 480, width: int = 640) -> Tensor:
    return torch.full((height, width, 3), 90, dtype=torch.uint8)


def rows(*boxes: tuple[float, ...]) -> Tensor:
    """The detector's answer: x0 y0 x1 y1 score, in letterbox pixels."""
    return torch.tensor([(*box, 0.0) for box in boxes]).reshape(1, -1, 6)


def logits_of(text: str, logit: float = 20.0) -> Tensor:
    logits = torch.zeros(BLANK + 1, 18)
    steps = [ALPHABET.index(char) for char in text]
    for step in range(18):
        char, is_char = divmod(step, 2)
        logits[steps[char] if not is_char and char < len(steps) else BLANK, step] = logit
    return logits


class ScriptedInfer:
    """Networks with scripted answers: the detector's for a picture, the others' crop by crop.

    Crops beyond the texts are empty.
    """

    def __init__(
        self,
        yolo: Tensor,
        texts: tuple[str, ...] = (),
        theta: Tensor = IDENTITY,
        logits: tuple[float, ...] = (),
    ):
        self.yolo, self.texts, self.theta = yolo, list(texts), theta
        self.logits = logits
        self.calls: list[str] = []
        self.batches: list[int] = []

    def __call__(self, model: str, tensors: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        (tensor,) = tensors.values()
        self.calls.append(model)
        if model == "yolo":
            self.net = tensor
            return {"output__0": self.yolo}
        self.batches.append(len(tensor))
        if model == "stn":
            self.crops = tensor
            return {"output__0": tensor, "output__1": self.theta.expand(len(tensor), 2, 3)}
        count = len(tensor)
        texts, self.texts = [*self.texts[:count], *[""] * count][:count], self.texts[count:]
        logits, self.logits = (*self.logits[:count], *[20.0] * count)[:count], self.logits[count:]
        return {"output__0": torch.stack(list(map(logits_of, texts, logits)))}


class CloserInfer(ScriptedInfer):
    """A detector that answers each call with other rows."""

    def __init__(self, *answers: Tensor, texts: tuple[str, ...] = ()) -> None:
        super().__init__(answers[0], texts)
        self.answers, self.nets = list(answers), []

    def __call__(self, model: str, tensors: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        if model == "yolo":
            self.yolo = self.answers.pop(0)
            self.nets.append(tuple(tensors["input__0"].shape[1:3]))
        return super().__call__(model, tensors)
