"""Settings, limits and country files from any text: accepted within their ranges, or rejected."""

import dataclasses
import math
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import ParameterError, SettingsError
from orchestrator.formats.plate_formats import (
    COUNTRIES,
    Formats,
    PlateFormat,
    Region,
    read_formats,
    russian,
)
from orchestrator.host.toml_files import build, read_table, to_toml
from orchestrator.serving.gateway.options import Limits
from orchestrator.settings import REQUEST_PARAMETERS, Settings
from tests.fuzzing.profiles import quick

NUMBERS = st.one_of(st.integers(), st.floats(), st.just(10**400))
TEXTS = st.one_of(st.text(), st.floats().map(str), st.integers().map(str), st.just("9" * 5000))
VALUES = st.one_of(NUMBERS, TEXTS, st.booleans())
NAMES = st.one_of(
    st.sampled_from([field.name for field in dataclasses.fields(Settings)]), st.text()
)
RUSSIA = (COUNTRIES / "russia" / "formats.toml").read_text(encoding="utf-8")


@dataclass(frozen=True)
class PlainTable:
    """A table with a value of every type that can be written."""

    text: str = ""
    number: float = 0.0
    whole: int = 0
    is_so: bool = False
    texts: tuple[str, ...] = ()


PLAINS = st.builds(
    PlainTable, st.text(), st.floats(), st.integers(), st.booleans(), st.lists(st.text()).map(tuple)
)


class TestSettings:
    @quick
    @given(st.dictionaries(st.sampled_from(REQUEST_PARAMETERS), VALUES))
    def test_a_requests_parameters_stay_within_the_operators_ceilings(self, parameters) -> None:
        try:
            settings = Settings().updated(parameters)
        except ParameterError:
            return
        assert 0 <= settings.detection_threshold <= 1
        assert 0 <= settings.text_threshold <= 1
        assert 1 <= settings.max_plates <= Settings.max_plates
        assert 32 <= settings.detector_side_px <= Settings.max_detector_side_px
        assert settings.detector_side_px % 32 == 0
        assert settings.roi is None or (
            settings.roi[0] < settings.roi[2] and settings.roi[1] < settings.roi[3]
        )

    @quick
    @given(st.dictionaries(NAMES, st.text().map(lambda text: {"string_value": text})))
    def test_a_models_configuration_is_taken_or_refused(self, parameters) -> None:
        try:
            settings = Settings.from_config(parameters)
        except SettingsError:
            return
        assert math.isfinite(settings.temperature)

    @quick
    @given(st.sampled_from([field.name for field in dataclasses.fields(Limits)]), TEXTS)
    def test_a_limit_is_taken_or_refused(self, name: str, value: str) -> None:
        try:
            limits = Limits().updated((f"{name}={value}",))
        except SettingsError:
            return
        assert 0 <= getattr(limits, name) <= 1_000_000_000


class TestSettingsFiles:
    @quick
    @given(st.text() | st.binary().map(lambda content: content.decode("latin-1")))
    def test_any_file_is_a_country_or_refused(self, tmp_path_factory, content: str) -> None:
        file = tmp_path_factory.getbasetemp() / "any.toml"
        file.write_text(content, encoding="utf-8", errors="replace")
        with pytest.raises(SettingsError):
            read_formats(file)

    @quick
    @given(st.integers(0, len(RUSSIA) - 1), st.integers(0, 9), st.text(max_size=9))
    def test_a_damaged_country_is_one_or_refused(
        self, tmp_path_factory, position: int, missing: int, more: str
    ) -> None:
        file = tmp_path_factory.getbasetemp() / "damaged.toml"
        damaged = RUSSIA[:position] + more + RUSSIA[position + missing :]
        file.write_text(damaged, encoding="utf-8", errors="replace")
        assert is_country_or_refused(file)

    @pytest.mark.parametrize(
        "content",
        [
            pytest.param("a = " + "[" * 100_000, id="deep"),
            pytest.param("share = " + "9" * 5000, id="a number of 5000 digits"),
            pytest.param('[[format]]\nname = "a"\nlayouts = ["L"]\nshare = 0x' + "f" * 400,
                         id="a number that is no float"),
            pytest.param('format = 0x' + "f" * 5000, id="a number unprintable"),
            pytest.param("a = 2026-13-45", id="a day that is none"),
            pytest.param("a.b = 1\na = 2", id="a table that is a number"),
            pytest.param("[[format]]\n[format]", id="a list that is a table"),
        ],
    )  # fmt: skip
    def test_a_hostile_file_is_refused(self, tmp_path: Path, content: str) -> None:
        (tmp_path / "a.toml").write_text('alphabet = "A"\n' + content, encoding="utf-8")
        with pytest.raises(SettingsError) as raised:
            read_formats(tmp_path / "a.toml")
        assert len(str(raised.value)) < 1000

    @quick
    @given(PLAINS)
    def test_a_table_is_read_as_it_was_written(self, tmp_path_factory, plain: PlainTable) -> None:
        file = tmp_path_factory.getbasetemp() / "written.toml"
        file.write_text(to_toml(plain), encoding="utf-8")
        assert repr(read_table(PlainTable, file)) == repr(plain)

    @quick
    @given(st.recursive(st.none() | VALUES, lambda inner: st.lists(inner)
                        | st.dictionaries(st.text() | st.just("text"), inner)))  # fmt: skip
    def test_any_table_is_built_or_refused(self, table: object) -> None:
        with suppress(SettingsError):
            assert isinstance(build(PlainTable, table), PlainTable)


class TestFormats:
    @quick
    @given(
        st.text("01ABL/", max_size=5), st.text("LDRab/x", max_size=11), st.text("019", max_size=3)
    )
    def test_any_layout_is_one_or_refused(self, alphabet: str, layout: str, code: str) -> None:
        try:
            formats = Formats(alphabet, (PlateFormat("a", (layout,)),), (Region("b", (code,)),))
        except SettingsError:
            return
        lines = layout.count("/") + 1
        assert formats.layouts(lines) == (layout,)
        assert formats.layouts(3 - lines) == ()

    @quick
    @given(st.text())
    def test_any_text_has_a_format_or_none(self, text: str) -> None:
        formats = russian()
        name = formats.format_of(text)
        assert name in ("", *(plate_format.name for plate_format in formats.format))
        assert formats.code_of(text, name) == "" or formats.code_of(text, name) in text


def is_country_or_refused(file: Path) -> bool:
    try:
        return isinstance(read_formats(file), Formats)
    except SettingsError:
        return True
