"""Warnings of files of cameras whose passwords others can read."""

from pathlib import Path

import pytest

from orchestrator.errors import SettingsError
from plate_cameras.configuration import read_configuration
from plate_cameras.secret_settings import resolve_secret, warn_of_readers

CAMERA = '[[cameras]]\nname = "gate"\nurl = "{}"\n'
PLAIN = CAMERA.format("rtsp://10.0.0.5/1")
SINK = '[[sinks]]\nname = "erp"\ntype = "webhook"\nurl = "{}"\n'
ERP = PLAIN + SINK.format("https://erp.example")
NOTIFY = SINK.replace("webhook", "notify")
DATABASE = '[store]\nurl = "postgresql://u:w@db/plates"\n'
GATE = """[[gates]]
name = "barrier"
type = "http"
url = "http://10.0.0.9/"
cameras = ["gate"]
lists = ["cars"]
options = {{ password = "{}" }}
"""


@pytest.mark.parametrize(
    ("text", "mode", "is_warned"),
    [
        pytest.param(CAMERA.format("rtsp://user:word@10.0.0.5/1"), 0o644, True, id="camera"),
        pytest.param(CAMERA.format("http://10.0.0.5/?Password=word"), 0o644, True, id="query"),
        pytest.param(CAMERA.format("rtsp://user:word@10.0.0.5/1"), 0o640, False, id="group alone"),
        pytest.param(PLAIN, 0o644, False, id="no password"),
        pytest.param(PLAIN + SINK.format("https://u:w@erp.example"), 0o644, True, id="sink"),
        pytest.param(ERP + 'secrets = ["whsec_a"]', 0o604, True, id="secret"),
        pytest.param(ERP + 'secrets = ["env:A"]', 0o644, False, id="secret of the environment"),
        pytest.param(PLAIN + NOTIFY.format("tgram://word/1"), 0o644, True, id="messages"),
        pytest.param(PLAIN + NOTIFY.format("file:/run/url"), 0o644, False, id="messages, file"),
        pytest.param(PLAIN + GATE.format("word"), 0o644, True, id="gate"),
        pytest.param(PLAIN + GATE.format("env:WORD"), 0o644, False, id="gate, environment"),
        pytest.param(f'metrics_key = "word"\n{PLAIN}', 0o644, True, id="metrics"),
        pytest.param(f'metrics_key = "env:A"\n{PLAIN}', 0o644, False, id="metrics, environment"),
        pytest.param(DATABASE + PLAIN, 0o644, True, id="database"),
    ],
)
def test_a_file_with_passwords_that_all_may_read_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, mode: int, *, is_warned: bool
) -> None:
    file = tmp_path / "CAMERAS.toml"
    file.write_text(text)
    file.chmod(mode)
    warn_of_readers(file, read_configuration(file))
    assert [record.levelname for record in caplog.records] == ["WARNING"] * is_warned
    assert "word" not in caplog.text.replace("passwords", "")


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        pytest.param(b"word", "word.txt", "got the relative word.txt", id="relative"),
        pytest.param(None, "/none/word", "No such file", id="missing"),
        pytest.param(b"\xff", "", "no UTF-8", id="no text"),
        pytest.param(b"a\nword", "", "another content", id="lines"),
        pytest.param(b" \n", "", "another content", id="empty"),
        pytest.param(b"word" * 2000, "", "another content", id="long"),
    ],
)
def test_a_file_that_is_no_secret_is_told_without_its_content(
    tmp_path: Path, content: bytes | None, name: str, message: str
) -> None:
    file = tmp_path / "secret"
    file.write_bytes(content or b"")
    with pytest.raises(SettingsError, match=message) as failure:
        resolve_secret("sink erp: url", f"file:{name or file}", {})
    assert "wordword" not in str(failure.value)
