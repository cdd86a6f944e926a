import pytest

from orchestrator.errors import ParameterError, SettingsError
from orchestrator.settings import READER_PARAMETERS, Settings, check_parameters


def test_no_parameters_change_nothing() -> None:
    settings = Settings()
    assert settings.updated({}) is settings


@pytest.mark.parametrize("value", [0.7, "0.7"])
def test_a_number_may_come_as_text(value: float | str) -> None:
    assert Settings().updated({"detection_threshold": value}).detection_threshold == 0.7


def test_a_request_sets_every_parameter_of_the_contract() -> None:
    settings = Settings().updated(
        {"detection_threshold": 1, "text_threshold": 0, "max_plates": 3.0, "roi": "1,2.5,30,40"}
    )
    assert (settings.detection_threshold, settings.text_threshold) == (1, 0)
    assert settings.max_plates == 3
    assert settings.roi == (1, 2.5, 30, 40)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"threshold": 0.5}, "wanted some of detection_threshold, .* got threshold"),
        ({"temperature": 1.0}, "got temperature"),
        ({"detection_threshold": 1.5}, "detection_threshold: wanted 0 to 1, got 1.5"),
        ({"text_threshold": "high"}, "text_threshold: wanted a number, got 'high'"),
        ({"text_threshold": "0_1"}, "text_threshold: wanted a number, got '0_1'"),
        ({"max_plates": "\u0665"}, "max_plates: wanted a number, got '\u0665'"),
        ({"roi": "1_0,0,20,20"}, 'roi: wanted "x0,y0,x1,y1" in pixels'),
        ({"text_threshold": "nan"}, "text_threshold: wanted 0 to 1, got nan"),
        ({"text_threshold": True}, "text_threshold: wanted a number, got True"),
        ({"max_plates": 0}, "max_plates: wanted 1 to 1000, got 0"),
        ({"max_plates": 2.5}, "max_plates: wanted a whole number, got 2.5"),
        ({"max_plates": "inf"}, "max_plates: wanted a whole number, got inf"),
        ({"roi": "1,2,3"}, "roi: wanted .*, got '1,2,3'"),
        ({"roi": "a,b,c,d"}, "roi: wanted .* in pixels"),
        ({"roi": "10,0,10,5"}, "roi: wanted x0 < x1 and y0 < y1"),
        ({"roi": "1,5,20,5"}, "roi: wanted x0 < x1 and y0 < y1"),
        ({"roi": "nan,0,10,5"}, "roi: wanted x0 < x1 and y0 < y1"),
    ],
)
def test_a_wrong_parameter_says_what_was_wanted(parameters, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Settings().updated(parameters)


@pytest.mark.parametrize(
    ("name", "minimum", "maximum", "step"),
    [
        ("detection_threshold", 0, 1, 0.01),
        ("text_threshold", 0, 1, 0.01),
        ("max_plates", 1, 1000, 1),
        ("iou_threshold", 0, 1, 0.01),
        ("detector_side_px", 32, 4096, 1),
        ("max_detector_side_px", 32, 4096, 1),
        ("max_pixels", 1, 1_000_000_000, 1),
        ("temperature", 0.01, 100, 0.001),
    ],
)
def test_a_setting_may_have_the_ends_of_its_range_and_nothing_beyond(
    name: str, minimum: float, maximum: float, step: float
) -> None:
    assert getattr(Settings(**{name: minimum}), name) == minimum
    assert getattr(Settings(**{name: maximum}), name) == maximum
    with pytest.raises(ParameterError, match=f"^{name}: wanted {minimum} to"):
        Settings(**{name: minimum - step})
    with pytest.raises(ParameterError, match=f"^{name}: wanted {minimum} to"):
        Settings(**{name: maximum + step})


def test_the_operators_value_is_a_ceiling() -> None:
    settings = Settings(max_plates=20)
    assert settings.updated({"max_plates": 20}).max_plates == 20
    with pytest.raises(ParameterError, match=r"wanted at most 20, .*operator.*, got 21"):
        settings.updated({"max_plates": 21})


def test_how_closely_a_request_looks_is_bounded_by_the_operator() -> None:
    settings = Settings(detector_side_px=640, max_detector_side_px=1280)
    assert settings.updated({"detector_side_px": "1280"}).detector_side_px == 1280
    with pytest.raises(ParameterError, match="detector_side_px: wanted at most 1280, which the op"):
        settings.updated({"detector_side_px": 1312})
    with pytest.raises(ParameterError, match="detector_side_px: wanted a multiple of 32, got 1000"):
        settings.updated({"detector_side_px": 1000})


def test_what_the_operator_looks_with_is_never_too_much() -> None:
    settings = Settings(detector_side_px=2560)
    assert settings.updated({"detector_side_px": 2560}) == settings


def test_a_threshold_may_be_lower_or_higher_than_the_operators() -> None:
    settings = Settings(detection_threshold=0.5)
    assert settings.updated({"detection_threshold": 0.1}).detection_threshold == 0.1
    assert settings.updated({"detection_threshold": 0.9}).detection_threshold == 0.9


def test_an_error_does_not_repeat_a_long_value() -> None:
    with pytest.raises(ParameterError) as error:
        Settings().updated({"text_threshold": "x" * 10_000})
    assert len(str(error.value)) < 100
    with pytest.raises(ParameterError) as error:
        Settings().updated({"x" * 10_000: 1})
    assert len(str(error.value)) < 250


def test_parameters_are_checked_where_the_operators_values_are_not_known() -> None:
    check_parameters({})
    check_parameters({"max_plates": 1000, "detector_side_px": 4096, "roi": "0,0,9,9"})
    with pytest.raises(ParameterError, match="max_plates: wanted 1 to 1000, got 1001"):
        check_parameters({"max_plates": 1001})
    with pytest.raises(ParameterError, match="wanted some of text_threshold, got roi"):
        check_parameters({"roi": "0,0,9,9"}, READER_PARAMETERS)


def config(**values: str) -> dict[str, dict[str, str]]:
    """Parameters in the form that Triton hands a model."""
    return {name: {"string_value": value} for name, value in values.items()}


def test_configuration_may_set_what_requests_may_not() -> None:
    assert Settings.from_config(config(detector_side_px="960")).detector_side_px == 960


def test_configuration_may_raise_a_ceiling() -> None:
    assert Settings.from_config(config(max_plates="300")).max_plates == 300


def test_upper_case_configuration_is_tritons() -> None:
    assert Settings.from_config(config(FORCE_CPU_ONLY_INPUT_TENSORS="no")) == Settings()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"detector_side_px": "650"}, "multiple of 32, got 650"),
        ({"sides": "650"}, "got sides"),
        ({"temperature": "0"}, "temperature: wanted 0.01 to 100"),
    ],
)
def test_wrong_configuration_stops_loading(values: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Settings.from_config(config(**values))
