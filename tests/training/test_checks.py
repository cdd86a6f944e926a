import numpy as np
import torch

from orchestrator.formats import russian
from training.checks import Check, accuracy, best_path

ALPHABET = russian().alphabet


def test_best_path_merges_repeats_and_drops_blanks() -> None:
    path = [10, 10, 22, 1, 22, 1, 22]  # A A - 1 - 1 -
    logits = torch.nn.functional.one_hot(torch.tensor([path]), 23).float().transpose(1, 2)
    assert best_path(logits, ALPHABET) == ["A11"]


def test_accuracy_counts_texts_read_exactly() -> None:
    class Fixed(torch.nn.Module):
        def forward(self, crops: torch.Tensor) -> tuple[torch.Tensor, None]:
            path = torch.tensor([[10, 1, 22]]).expand(len(crops), 3)
            return torch.nn.functional.one_hot(path, 23).transpose(1, 2), None

    check = Check("rendered", np.zeros((2, 24, 94, 3), np.uint8), ["A1", "A11"])
    assert accuracy(Fixed(), check, ALPHABET) == 0.5
