"""Runs a network as CUDA graphs: one launch for each inference, in place of hundreds.

Source: PyTorch, "CUDA semantics", CUDA Graphs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from orchestrator.triton.memory_faults import free_memory

MAX_GRAPHS = 48
"""Largest number of shapes that get a graph. Each holds an input of its own: 1.6 MB for one
picture."""
WARM_UP = 3
"""Inferences before a capture, in which libraries choose their kernels and allocate memory."""

Shapes = tuple[tuple[int, ...], ...]
Network = Callable[..., tuple[Tensor, ...]]


@dataclass(frozen=True)
class Graph:
    """A captured inference for inputs of one shape.

    Attributes:
        inputs: The memory that it reads.
        outputs: The memory that it writes.
        replay: Runs it on the current stream.
    """

    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]
    replay: Callable[[], object]

    def __call__(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Run it on other inputs, and return copies of its outputs."""
        for buffer, tensor in zip(self.inputs, inputs, strict=True):
            buffer.copy_(tensor)
        self.replay()
        return tuple(output.clone() for output in self.outputs)


Capture = Callable[[Network, Sequence[Tensor]], Graph]
"""Captures an inference of a network on such inputs."""


class CudaCapture:
    """Captures inferences on a GPU. All graphs of one object share their memory.

    So a replay may overwrite the outputs of every other graph. This is safe if all of them are
    replayed on one stream, and each answer is copied on it before the next replay.
    """

    def __init__(self) -> None:
        self._pool: Any = None

    def __call__(self, network: Network, inputs: Sequence[Tensor]) -> Graph:
        with torch.cuda.device(inputs[0].device):
            copies = [tensor.clone() for tensor in inputs]
            stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):  # its end sets the stream back, also after an error
                for _ in range(WARM_UP):
                    network(*copies)
                self._pool = self._pool or torch.cuda.graph_pool_handle()
                # Other threads of a worker are Triton's; they must not end the capture.
                with torch.cuda.graph(graph, self._pool, capture_error_mode="thread_local"):
                    outputs = network(*copies)
            torch.cuda.current_stream().wait_stream(stream)
        return Graph(copies, outputs, graph.replay)


class GraphedNetwork:
    """A network whose inferences are replayed as graphs, one for each shape of its inputs.

    The first inference on a shape is an ordinary one, and is captured afterwards. So an input that
    the network rejects fails as it does without graphs. There is no graph for further shapes if
    there are `max_graphs`, or after a capture has failed. One line of the log says so.

    An answer is a copy, which no later replay overwrites. Two replays may run before Triton takes
    the first answer, for example when each request of a batch is repeated alone. The copy is on
    PyTorch's current stream, after the replay and before the next one. DLPack holds it until Triton
    has taken the responses. Triton waits for this stream before it reads: `from_dlpack` gets the
    tensor itself.

    Args:
        network: Runs the network.
        capture: Captures an inference.
        max_graphs: The most shapes that get a graph.
    """

    def __init__(
        self, network: Network, capture: Capture | None = None, max_graphs: int = MAX_GRAPHS
    ) -> None:
        self._network, self._max_graphs = network, max_graphs
        self._capture = capture or CudaCapture()
        self._graphs: dict[Shapes, Graph] = {}
        self._is_complete = False

    def __call__(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        shapes = tuple(tuple(tensor.shape) for tensor in inputs)
        if shapes in self._graphs:
            return self._graphs[shapes](*inputs)
        answer = self._network(*inputs)
        self._add_graph(shapes, inputs)
        return answer

    def _add_graph(self, shapes: Shapes, inputs: Sequence[Tensor]) -> None:
        if self._is_complete:
            return
        if len(self._graphs) == self._max_graphs:
            self._complete(f"there are {self._max_graphs}")
            return
        try:
            self._graphs[shapes] = self._capture(self._network, inputs)
        except Exception as error:  # the network works without graphs
            self._complete(f"{[*map(list, shapes)]} cannot be captured: {error}")
            free_memory(error)

    def _complete(self, reason: str) -> None:
        """Capture no further shapes, and log why."""
        self._is_complete = True
        os.write(2, f"no further CUDA graphs: {reason}\n".encode()[:2000])
