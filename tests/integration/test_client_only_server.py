"""A client that is installed alone, with a real server."""

from pathlib import Path

from tests.client_only import ClientOnly

STREET = Path(__file__).resolve().parents[1] / "data" / "street.jpg"


def test_it_recognises(client_only: ClientOnly, wire) -> None:
    done = client_only.plates("recognize", STREET, "--url", wire.url)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{STREET}: 3 plates\n")
    assert "A123BC77" in done.stdout
