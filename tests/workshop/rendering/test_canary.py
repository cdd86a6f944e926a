"""The picture of the health check: small, and read for certain by the networks of its country."""

from pathlib import Path

import pytest

from orchestrator import load_networks, recognize
from orchestrator.formats.plate_formats import COUNTRIES
from orchestrator.host.canary import read_canary
from orchestrator.imaging.decoding import decode
from orchestrator.networks.weights import list_sums
from workshop.rendering.canary import draw_canary, main
from workshop.rendering.country import country_of


def test_a_canary_is_small_and_bears_a_plate_of_the_first_format() -> None:
    kazakhstan = country_of(COUNTRIES / "kazakhstan" / "formats.toml")
    file, text = draw_canary(kazakhstan, seed=5)
    assert len(file) < 20_000
    assert decode(file).shape == (480, 640, 3)
    assert kazakhstan.formats.format_of(text) == "kz_car"
    assert (file, text) == draw_canary(kazakhstan, seed=5)


def test_weights_of_another_alphabet_keep_their_canary(tmp_path: Path, capsys) -> None:
    formats = (COUNTRIES / "kazakhstan" / "formats.toml").read_text()
    (tmp_path / "formats.toml").write_text(formats)
    (tmp_path / "canary.txt").write_text("123ABC02\n")
    list_sums(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        main(["--out", str(tmp_path)])
    error_output = capsys.readouterr().err
    assert error_output.startswith(
        f"workshop.rendering.canary: {tmp_path}: wanted plate formats in the alphabet"
    )
    assert (tmp_path / "canary.txt").read_text() == "123ABC02\n"
    assert not (tmp_path / "canary.jpg").exists()


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path, capsys) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--out", str(tmp_path / "none")])
    expected_output = f"workshop.rendering.canary: weights: no such folder: {tmp_path / 'none'}\n"
    assert capsys.readouterr().err == expected_output


def test_the_networks_read_what_the_command_writes_beside_their_weights(tmp_path: Path) -> None:
    main(["--out", str(tmp_path), "--seed", "2"])
    canary = read_canary(tmp_path)
    (plate,) = recognize(decode(canary.file), load_networks())
    assert plate.text == canary.text
    assert plate.text_score > 0.9
