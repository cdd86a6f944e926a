"""BLS model, ensemble and monolith give the same answers."""

from collections.abc import Iterator

import pytest

from benchmarks import calls
from benchmarks.pictures import Picture, rendered
from benchmarks.rivals import BLS, MODELS, running
from orchestrator.server.process import Server

RIVALS = sorted(set(MODELS) - {BLS})


@pytest.fixture(scope="module")
def forms() -> Iterator[Server]:
    """A server with all three forms, one picture in work of each."""
    with running(pictures=1) as server:
        yield server


@pytest.fixture(params=[4, 0], ids=lambda count: f"{count} plates")
def picture(request: pytest.FixtureRequest) -> Picture:
    return rendered(request.param)


@pytest.mark.parametrize("form", RIVALS)
def test_a_rival_answers_as_the_bls_model(forms: Server, form: str, picture: Picture) -> None:
    wanted = calls.answer(BLS, picture, forms.options.http_url)
    got = calls.answer(form, picture, forms.options.http_url)
    assert len(wanted["texts"]) == picture.plates
    assert calls.difference(wanted, got) == ""


@pytest.mark.parametrize("form", MODELS)
def test_a_repeated_call_on_one_connection_is_answered(
    forms: Server, form: str, picture: Picture
) -> None:
    with calls.connected(form, picture, forms.options.http_url) as call:
        assert [call(), call()] == [picture.plates] * 2
