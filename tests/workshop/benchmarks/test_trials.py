"""Changes of a model's configuration by a trial, and the pictures that it sends."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tritonclient.grpc.model_config_pb2 import ModelConfig

from orchestrator.imaging.decoding import decode
from workshop.benchmarks.compositions.trials import (
    FORMS,
    batch,
    cache,
    draw_bitmap,
    limit,
    list_trials,
    show,
)
from workshop.benchmarks.load import Cpu, Round


@pytest.fixture
def config() -> Any:
    config = ModelConfig()
    config.instance_group.add(count=2)
    config.dynamic_batching.max_queue_delay_microseconds = 1
    return config


def test_only_the_models_named_are_cached(config: Any) -> None:
    cache(("yolo",), "stn", config)
    assert not config.response_cache.enable
    cache(("yolo",), "yolo", config)
    assert config.response_cache.enable


def test_each_instance_holds_the_resource(config: Any) -> None:
    limit(("yolo",), "stn", config)
    assert not config.instance_group[0].rate_limiter.resources
    limit(("yolo",), "yolo", config)
    assert [one.name for one in config.instance_group[0].rate_limiter.resources] == ["cores"]


def test_networks_wait_as_long_as_told(config: Any) -> None:
    batch(5000, (4,), "yolo", config)
    assert config.dynamic_batching.max_queue_delay_microseconds == 5000
    assert list(config.dynamic_batching.preferred_batch_size) == [4]


def test_without_a_delay_networks_do_not_batch(config: Any) -> None:
    batch(None, (), "plate_recognition", config)
    assert config.HasField("dynamic_batching")
    batch(None, (), "yolo", config)
    assert not config.HasField("dynamic_batching")


def test_the_first_server_of_a_trial_has_nothing_added() -> None:
    assert [trial.variants[0].flags for trial in list_trials().values()] == [(), (), ()]


def test_the_last_bytes_of_a_bitmap_are_one_pixel() -> None:
    bitmap = draw_bitmap()
    changed = replace(bitmap, encoded=bitmap.encoded[:-3] + b"\1\2\3")
    before, after = (decode(one.encoded).numpy() for one in (bitmap, changed))
    assert np.argwhere((before != after).any(axis=2)).tolist() == [[0, 639]]


def test_a_row_is_set_against_the_first_and_shows_batches_where_nothing_hit() -> None:
    form = FORMS["bls"]
    counters = {f"{form.model} request_success": 10.0, "yolo request_success": 10.0}
    counters |= {"yolo exec_count": 5.0, "yolo count": 10.0}
    plain = Round(1.0, (50.0,) * 10, cpu_s=Cpu(0.2), counters=counters)
    quick = replace(plain, latencies_ms=(25.0,) * 20)
    assert show(form, [quick], [plain]) == [20, 2, 25, 25, 10, 0, 2, 0]
    hit = replace(quick, counters=counters | {"yolo num_hits_per_model": 10.0})
    assert show(form, [hit], [plain]) == [20, 2, 25, 25, 10, 1, None, None]
    assert show(form, [], [plain]) == [None] * 8
