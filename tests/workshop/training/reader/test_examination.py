import numpy as np
import torch

from orchestrator.formats.plate_formats import russian
from workshop.training.reader.examination import Check, accuracy, best_path

ALPHABET = russian().alphabet


def test_best_path_merges_repeats_and_drops_blanks() -> None:
    path = [10, 10, 23, 1, 23, 1, 23]  # A A - 1 - 1 -
    logits = torch.nn.functional.one_hot(torch.tensor([path]), 24).float().transpose(1, 2)
    assert best_path(logits, ALPHABET) == ["A11"]


def test_accuracy_counts_texts_read_exactly() -> None:
    class Fixed(torch.nn.Module):
        def forward(self, crops: torch.Tensor) -> tuple[torch.Tensor, None]:
            path = torch.tensor([[10, 1, 23]]).expand(len(crops), 3)
            return torch.nn.functional.one_hot(path, 24).transpose(1, 2), None

    check = Check("rendered", np.zeros((2, 24, 94, 3), np.uint8), ["A1", "A11"])
    assert accuracy(Fixed(), check, ALPHABET) == 0.5
