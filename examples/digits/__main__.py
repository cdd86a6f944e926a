"""Start a server with the three models, send it files and say what came back."""

from pathlib import Path

from tritonclient.grpc import InferenceServerClient
from tritonclient.utils import InferenceServerException

from evaluation.proportions import wilson_interval
from examples.digits.client import best_named, classify
from examples.digits.samples import load_samples, to_file
from orchestrator.server.local import own_server
from orchestrator.server.options import ServerOptions

REPOSITORY = Path(__file__).with_name("model_repository")


def main() -> None:
    with (
        own_server(ServerOptions(repository=REPOSITORY)) as served,
        InferenceServerClient(served.grpc_url) as client,
    ):
        show_files(client)
        show_a_broken_file(client)
        show_accuracy(client)


def show_files(client: InferenceServerClient) -> None:
    """Send three files of different kind, size and length as one request."""
    _, held_out = load_samples()
    kinds = [(28, ".png"), (200, ".jpg"), (64, ".bmp")]
    files = [to_file(held_out.images[i], *kind) for i, kind in enumerate(kinds)]
    probs = classify(client, files)
    for (side, suffix), file, row, digit in zip(kinds, files, probs, held_out.classes, strict=False):
        size = f"{side}x{side} {suffix[1:]}, {len(file)} bytes"
        print(f"{size:24} a {digit}: read as {row.argmax()}, probability {row.max():.3f}")
    print("three best, sorted and named by Triton:", ", ".join(best_named(client, files[0])))


def show_a_broken_file(client: InferenceServerClient) -> None:
    _, held_out = load_samples()
    good = to_file(held_out.images[0])
    try:
        classify(client, [good, b"no picture"])
    except InferenceServerException as error:
        print("a good file and a broken one in one request:", error.message())


def show_accuracy(client: InferenceServerClient) -> None:
    _, held_out = load_samples()
    right = int((classify(client, held_out.files()).argmax(1) == held_out.classes).sum())
    low, high = wilson_interval(right, len(held_out.classes)) or (0.0, 1.0)
    print(
        f"{right} of {len(held_out.classes)} held-out digits are right: "
        f"{right / len(held_out.classes):.1%}, 95 % interval {low:.1%} to {high:.1%}"
    )


if __name__ == "__main__":
    main()
