"""Networks are exported by our own code, in any working directory."""

from pathlib import Path

import pytest

from orchestrator.errors import SettingsError
from orchestrator.serving.supervisor.models import export_process
from orchestrator.serving.supervisor.models.export_cache import ModelSource


def test_a_folder_of_the_same_name_is_not_run(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "orchestrator").mkdir()
    (tmp_path / "orchestrator" / "__init__.py").write_text("raise SystemExit('another program')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(export_process, "plan_export", lambda *_, **__: {"yolo": Path("yolo")})
    with pytest.raises(SettingsError, match=rf"{tmp_path}/empty"):  # the child's answer
        export_process.export_apart(ModelSource(Path("empty")))
