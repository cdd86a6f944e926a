"""Read rendered pages with both forms over gRPC; print texts, times and whether they are equal."""

import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
from tritonclient.grpc import InferenceServerClient, InferInput

from examples.ocr.pages import PAGES
from orchestrator.serving.supervisor.local_server import own_server
from orchestrator.serving.supervisor.options import ServerOptions

REPOSITORY = Path(__file__).with_name("model_repository")
FORMS = ("ocr_ensemble", "ocr_model")


def read_text(client: InferenceServerClient, form: str, file: bytes) -> pd.DataFrame:
    """Return text, score and corners of each line in a picture file."""
    tensor = InferInput("encoded_image", [1], "BYTES")
    tensor.set_data_from_numpy(np.array([file], np.object_))
    records = client.infer(form, [tensor]).as_numpy("records")[0]
    return pd.DataFrame(json.loads(records), columns=["text", "score", "corners"])


def main() -> None:
    with own_server(ServerOptions(repository=REPOSITORY)) as server:
        client = InferenceServerClient(server.grpc_url)
        for name, page in PAGES.items():
            tables, file = [], page.encode()
            print(name, end=": ")
            for form in FORMS:
                start = time.perf_counter()
                tables.append(read_text(client, form, file))
                print(f"{form} {time.perf_counter() - start:.2f} s", end=", ")
            print(f"equal: {tables[0].equals(tables[1])}, {len(tables[0])} lines")
            print(f"{tables[0].head().to_string()}\n")


if __name__ == "__main__":
    main()
