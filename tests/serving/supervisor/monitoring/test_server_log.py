"""The lines of a server's log that explain a failure, as Triton 2.51 writes them."""

import logging

import pytest

from orchestrator.serving.supervisor.monitoring.server_log import ServerLog, on_one_line

NOT_LOADED = """E1121 21:20:22.7 2 model_lifecycle.cc:642] "failed to load '{}' version 1: {}"\n"""
STACK = r"\n\nAt:\n  /tmp/plates-x/repository/yolo/1/model.py(1): <module>\n"
NOISE = [
    'W1121 21:22:33.0 2 pinned_memory_manager.cc:170] "failed to allocate pinned system memory"\n',
    "Error: Failed to initialize NVML\n",
    'W1121 21:22:35.3 2 metrics.cc:798] "DCGM unable to start: DCGM initialization error"\n',
    "\n",
]


def log_of(*lines: str) -> ServerLog:
    log = ServerLog()
    log.follow([*NOISE, *lines, *NOISE])
    return log


def test_nothing_said_is_told() -> None:
    assert log_of().reason() == "it left no message"
    assert log_of().last_words() == ""
    assert log_of().find_unloaded() is None


def test_a_model_that_failed_is_named_with_its_reason_alone() -> None:
    why = f"Internal: ModuleNotFoundError: No module named 'cv2'{STACK}"
    log = log_of(NOT_LOADED.format("yolo", why))
    assert log.find_unloaded() == ("yolo", "ModuleNotFoundError: No module named 'cv2'")
    assert log.reason() == "yolo: ModuleNotFoundError: No module named 'cv2'"


def test_a_configuration_that_cannot_be_read_is_a_model_that_failed() -> None:
    line = (
        'E1121 21:21:33.2 2 model_repository_manager.cc:1460] "Poll failed for model directory '
        "'stn': failed to read text proto from /r/stn/config.pbtxt\"\n"
    )
    why = "failed to read text proto from /r/stn/config.pbtxt"
    assert log_of(line).find_unloaded() == ("stn", why)


def test_a_worker_that_died_has_no_reason_but_its_own_words() -> None:
    dead = "Internal: Stub process 'stn_0_0' is not healthy."
    log = log_of("MemoryError: no room\n", NOT_LOADED.format("stn", dead))
    assert log.find_unloaded() == ("stn", "")
    assert log.reason() == "stn: MemoryError: no room"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        pytest.param(
            ["terminate called after throwing\n", "  what():  Failed to import the site module\n"],
            "Failed to import the site module",
            id="c++",
        ),
        pytest.param(
            [
                "Fatal Python error: init_fs_encoding: no codec\n",
                "ModuleNotFoundError: encodings\n",
            ],
            "init_fs_encoding: no codec",
            id="python",
        ),
        pytest.param(
            ["/tmp/stub: error while loading shared libraries: libx.so.1: cannot open it\n"],
            "error while loading shared libraries: libx.so.1: cannot open it",
            id="linker",
        ),
        pytest.param(
            ["Traceback (most recent call last):\n", '  File "x.py"\n', "a.b.OddError: odd\n"],
            "a.b.OddError: odd",
            id="traceback",
        ),
        pytest.param(["double free or corruption (out)\n"], "double free or corruption (out)"),
        pytest.param(["  /x/model.py(3): initialize\n", "<frozen x>(1): y\n"], "", id="stack"),
    ],
)
def test_last_words_are_those_that_tell(lines: list[str], words: str) -> None:
    assert log_of(*lines).last_words() == words


def test_a_port_that_was_taken_meanwhile_is_tritons_own_sentence() -> None:
    line = (
        'E1121 21:30:35.1 2 main.cc:257] "failed to start HTTP service: Unavailable - Socket '
        "'127.0.0.1:7310' already in use \"\n"
    )
    sentence = "failed to start HTTP service: Unavailable - Socket '127.0.0.1:7310' already in use"
    assert log_of(line).reason() == sentence


def test_where_in_a_library_it_happened_is_left_out() -> None:
    message = (
        r"RuntimeError: Exception from src/core.cpp:132:\nException from src/plugin.cpp:59:\n"
        r"Check 'a == b' failed at src/x.cpp:900:\nIncorrect weights in bin file!\n\n\n\n\nAt:\n  x"
    )
    assert on_one_line(message) == "RuntimeError: Incorrect weights in bin file!"


def test_a_long_reason_is_cut() -> None:
    assert len(on_one_line("word " * 1000)) <= 240


def test_errors_of_a_start_are_shown_when_it_has_succeeded(caplog) -> None:
    log = ServerLog()
    with caplog.at_level(logging.ERROR, "orchestrator.serving.supervisor.monitoring.server_log"):
        log.follow(["E1121 1\n"])
        assert caplog.messages == []
        log.release()
        log.follow(["E1121 2\n", "W1121 3\n"])
    assert caplog.messages == ["E1121 1", "E1121 2"]
