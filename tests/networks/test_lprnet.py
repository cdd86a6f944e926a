import pytest
import torch
from torch import Tensor, nn

from orchestrator.networks.lprnet import ChannelStridePool, LPRNet

torchscript = pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")


class PublishedLPRNet(nn.Module):
    """The forward pass as published: 3-D pooling over the channels, one mean for the batch."""

    def __init__(self, network: LPRNet) -> None:
        super().__init__()
        self.layers = [self.published(layer) for layer in network.backbone]
        self.container = network.container
        self.contexts = {
            2: nn.AvgPool2d(5, 5),
            6: nn.AvgPool2d(5, 5),
            13: nn.AvgPool2d((4, 10), (4, 2)),
            22: nn.Identity(),
        }

    @staticmethod
    def published(layer: nn.Module) -> nn.Module:
        if not isinstance(layer, ChannelStridePool):
            return layer
        return nn.MaxPool3d((1, 3, 3), (layer.channel_stride, 1, layer.column_stride))

    def forward(self, features: Tensor) -> Tensor:
        contexts = []
        for index, layer in enumerate(self.layers):
            features = layer(features)
            if index in self.contexts:
                context = self.contexts[index](features)
                contexts.append(context / context.pow(2).mean())
        rows: Tensor = self.container(torch.cat(contexts, 1))
        return rows.mean(2)


def network(seed: int = 0) -> LPRNet:
    torch.manual_seed(seed)
    lprnet = LPRNet(23).train()
    with torch.no_grad():
        lprnet(torch.randn(8, 3, 24, 94))  # running statistics that are not 0 and 1
    return lprnet.eval()


def crops(count: int) -> Tensor:
    return torch.randn(count, 3, 24, 94, generator=torch.Generator().manual_seed(1))


@torch.no_grad()
def test_output_is_a_column_of_23_logits_for_each_of_18_steps() -> None:
    logits = network()(crops(3))
    assert logits.shape == (3, 23, 18)
    assert logits.dtype == torch.float32


@torch.no_grad()
def test_it_computes_what_the_published_formulation_computes() -> None:
    lprnet, batch = network(), crops(1)
    torch.testing.assert_close(lprnet(batch), PublishedLPRNet(lprnet)(batch))


@torch.no_grad()
def test_a_plate_reads_the_same_alone_and_in_a_batch() -> None:
    lprnet, batch = network(), crops(4)
    alone = torch.cat([lprnet(crop[None]) for crop in batch])
    torch.testing.assert_close(lprnet(batch), alone)


@torchscript
@torch.no_grad()
def test_the_script_computes_what_the_network_computes() -> None:
    lprnet, batch = network(), crops(2)
    scripted = torch.jit.script(lprnet)
    torch.testing.assert_close(scripted(batch), lprnet(batch))
    torch.testing.assert_close(scripted(batch[:1]), lprnet(batch[:1]))


def test_parameters_have_the_names_of_third_party_checkpoints() -> None:
    state = LPRNet(23).state_dict()
    assert len(state) == 62
    assert state["backbone.4.block.6.weight"].shape == (128, 32, 1, 1)
    assert state["backbone.16.weight"].shape == (256, 64, 1, 4)
    assert state["backbone.21.running_var"].shape == (23,)
    assert state["container.weight"].shape == (23, 471, 1, 1)


def test_a_wider_network_has_more_channels_only_within_its_blocks() -> None:
    narrow, wide = LPRNet(23).state_dict(), LPRNet(23, width=2).state_dict()
    assert wide["backbone.4.block.6.weight"].shape == (128, 64, 1, 1)
    assert wide["backbone.11.block.2.weight"].shape == (128, 128, 3, 1)
    differ = {name for name in narrow if narrow[name].shape != wide[name].shape}
    assert {name.rsplit(".", 2)[0] for name in differ} == {
        "backbone.4.block", "backbone.8.block", "backbone.11.block"
    }  # fmt: skip
