"""API keys identify callers; error messages contain no part of a key."""

import logging
import os
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from orchestrator.errors import SettingsError
from orchestrator.serving.gateway.errors import KeysUnavailable, Unauthenticated
from orchestrator.serving.gateway.options import Limits
from orchestrator.serving.gateway.policy.api_keys import (
    Key,
    KeyFile,
    Keys,
    parse_keys,
    read_keys,
)
from orchestrator.serving.gateway.policy.authentication import authenticate
from orchestrator.serving.gateway.policy.clients import ARCHIVE, GATE, USUAL, Client, client_at
from tests.virtual_time import Clock

LIMITS = Limits(client_calls=5, client_rate=7.0)
ADDRESS = client_at("192.0.2.1", LIMITS)
NEW_YEAR = 1798761600.0  # 2027-01-01T00:00:00Z
SECRET = "plates_MOST-secret.4711"


def at(now: float) -> Callable[[], float]:
    return lambda: now


def table(name: str, key: str, more: str = "") -> str:
    return f'[{name}]\nsha256 = "{sha256(key.encode()).hexdigest()}"\n{more}\n'


def caller(headers: dict[str, str], keys: Keys | None = None, *, wants_key: bool = False) -> Client:
    sent = [*headers.items()]
    return authenticate(sent, ADDRESS, keys, wants_key=wants_key, limits=LIMITS)


KEYS = parse_keys(table("north", SECRET, 'priority = "gate"\ncalls = 8\nrate = 20'))


def test_an_empty_file_says_that_nobody_has_a_key(tmp_path: Path) -> None:
    (tmp_path / "keys.toml").touch()
    keys = read_keys(tmp_path / "keys.toml")
    assert dict(keys.by_name) == {}
    with pytest.raises(Unauthenticated, match="the key is not known"):
        keys.client_of(SECRET, LIMITS)


def test_a_key_brings_its_quotas() -> None:
    assert KEYS.client_of(SECRET, LIMITS) == Client("key:north", 8, 20.0, GATE)


def test_a_key_brings_its_role_and_groups() -> None:
    keys = parse_keys(table("desk", "k", 'role = "viewer"\ngroups = ["north", "south"]'))
    client = keys.client_of("k", LIMITS)
    assert (client.role, client.groups) == ("viewer", ("north", "south"))
    plain = KEYS.client_of(SECRET, LIMITS)
    assert (plain.role, plain.groups) == ("", ())


def test_a_key_without_quotas_has_an_addresss() -> None:
    keys = parse_keys(table("plain", "k1") + table("old", "k2", 'priority = "archive"'))
    assert keys.client_of("k1", LIMITS) == Client("key:plain", 5, 7.0, USUAL)
    assert keys.client_of("k2", LIMITS) == Client("key:old", 5, 7.0, ARCHIVE)


@pytest.mark.parametrize("day", ["2027-01-01", '"2027-01-01"'])
def test_a_key_is_good_until_its_day_begins(day: str) -> None:
    text = table("guest", "k", f"expires = {day}")
    before, after = parse_keys(text, at(NEW_YEAR - 1)), parse_keys(text, at(NEW_YEAR))
    assert before.client_of("k", LIMITS).name == "key:guest"
    with pytest.raises(Unauthenticated, match="the key has expired, on 2027-01-01"):
        after.client_of("k", LIMITS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("[a", "wanted TOML, got: ", id="no-toml"),
        pytest.param("a = 1", r"\[a\] content: wanted a table, got 1", id="no-table"),
        pytest.param("[a]", r"\[a\] wanted sha256, got none", id="no-hash"),
        pytest.param('[a]\nsha256 = "12"', r"\[a\] sha256: wanted 64 hex digits", id="short"),
        pytest.param(
            f'[a]\nsha256 = "{"A" * 64}"', r"\[a\] sha256: wanted 64 hex digits", id="capitals"
        ),
        pytest.param(table("A", "k"), "name: wanted small letters.*got 'A'", id="name"),
        pytest.param(
            table("a", "k", "calls = 0"), r"\[a\] calls: wanted 1 to .*, got 0", id="calls"
        ),
        pytest.param(
            table("a", "k", "rate = 0"), r"\[a\] rate: wanted 0\.001 to .*, got 0", id="rate"
        ),
        pytest.param(
            table("a", "k", 'priority = "vip"'),
            r"\[a\] priority: wanted one of gate, usual, archive, got 'vip'",
            id="priority",
        ),
        pytest.param(table("a", "k", "hosts = 1"), r"\[a\] wanted some.*hosts", id="more"),
        pytest.param(
            table("a", "k", 'expires = "soon"'),
            r"\[a\] expires: wanted a date.*'soon'",
            id="no-date",
        ),
        pytest.param(
            table("a", "k", "expires = 2027-01-01T10:00:00Z"),
            r"\[a\] expires: wanted a date",
            id="time",
        ),
        pytest.param(
            table("a", "k", 'role = "boss"'),
            r"\[a\] role: wanted one of sender, viewer, editor, administrator, got 'boss'",
            id="role",
        ),
        pytest.param(
            table("a", "k", 'groups = ["north"]'),
            r"\[a\] groups: wanted a role beside them, got none",
            id="groups without a role",
        ),
        pytest.param(
            table("a", "k", 'role = "viewer"\ngroups = []'),
            r"\[a\] groups: wanted names of groups, got \[\]",
            id="no groups: all or none?",
        ),
        pytest.param(
            table("a", "k") + table("b", "k"),
            r"\[b\] wanted a key of its own, got that of \[a\]",
            id="twice",
        ),
    ],
)
def test_a_file_that_is_wrong_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "keys.toml").write_text(text)
    with pytest.raises(SettingsError, match=f"keys.toml: {said}"):
        read_keys(tmp_path / "keys.toml")


def test_a_file_that_is_missing_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="none: wanted a file of keys, got No such file"):
        read_keys(tmp_path / "none")
    (tmp_path / "keys.toml").write_bytes(b"\xff")
    with pytest.raises(SettingsError, match=r"keys.toml: 'utf-8' codec"):
        read_keys(tmp_path / "keys.toml")


def test_a_key_written_in_place_of_its_hash_is_not_told() -> None:
    with pytest.raises(SettingsError) as refused:
        Key(SECRET)
    assert SECRET not in str(refused.value)


def test_a_file_that_changed_is_read_again_after_a_while(tmp_path: Path) -> None:
    file, clock = tmp_path / "keys.toml", Clock(0.0)
    file.write_text("")
    watched = KeyFile(file, clock)
    file.write_text(table("late", SECRET))
    clock.now = 4.9
    assert [*watched.keys().by_name] == []
    clock.now = 5.0
    assert [*watched.keys().by_name] == ["late"]


def test_a_file_of_the_same_size_is_known_by_its_time(tmp_path: Path) -> None:
    file, clock = tmp_path / "keys.toml", Clock(0.0)
    file.write_text(table("a", "k"))
    watched = KeyFile(file, clock)
    file.write_text(table("b", "k"))
    os.utime(file, (1, 1))
    clock.now = 5.0
    assert [*watched.keys().by_name] == ["b"]


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda file: file.write_text("[a"), id="wrong"),
        pytest.param(lambda file: file.unlink(), id="gone"),
    ],
)
def test_no_key_is_accepted_while_the_file_is_broken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, spoil: Callable[[Path], object]
) -> None:
    file, clock = tmp_path / "keys.toml", Clock(0.0)
    file.write_text(table("a", "k"))
    watched = KeyFile(file, clock)
    spoil(file)
    clock.now = 5.0
    with caplog.at_level(logging.ERROR):
        for clock.now in (5.0, 10.0):
            with pytest.raises(KeysUnavailable, match="cannot read its file of keys"):
                watched.keys()
    assert watched.is_broken
    assert len(caplog.messages) == 1
    assert caplog.messages[0].endswith("; no key is accepted until the file of keys is mended")
    file.write_text(table("b", "k"))
    clock.now = 15.0
    assert [*watched.keys().by_name] == ["b"]
    assert not watched.is_broken


def test_without_a_key_the_address_calls() -> None:
    assert caller({}).name == "192.0.2.1"
    assert caller({}, KEYS).name == "192.0.2.1"


@pytest.mark.parametrize("keys", [KEYS, None])
def test_a_key_that_is_wanted_and_missing_is_asked_for(keys: Keys | None) -> None:
    with pytest.raises(Unauthenticated, match="wants a key: send a key as `Authorization: Bearer"):
        caller({"host": "x"}, keys, wants_key=True)


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"authorization": f"Bearer {SECRET}"}, id="bearer"),
        pytest.param({"authorization": f"bearer  {SECRET} "}, id="small"),
        pytest.param({"authorization": f"Token {SECRET}"}, id="token"),
        pytest.param({"x-api-key": SECRET}, id="x-api-key"),
    ],
)
def test_a_key_comes_in_either_header(headers: dict[str, str]) -> None:
    client = caller(headers, KEYS, wants_key=True)
    assert client.name == "key:north"


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        pytest.param({"authorization": SECRET}, "this is no key: send", id="no-scheme"),
        pytest.param({"authorization": f"Basic {SECRET}"}, "this is no key", id="basic"),
        pytest.param({"authorization": "Bearer"}, "this is no key", id="bearer-alone"),
        pytest.param({"authorization": f"Bearer {SECRET} x"}, "this is no key", id="two-words"),
        pytest.param({"x-api-key": ""}, "this is no key", id="empty"),
        pytest.param({"x-api-key": SECRET + "é"}, "this is no key", id="no-ascii"),
        pytest.param({"x-api-key": SECRET * 20}, "this is no key", id="long"),
        pytest.param(
            {"authorization": f"Bearer {SECRET}", "x-api-key": SECRET}, "one key, got 2", id="both"
        ),
        pytest.param({"x-api-key": SECRET + "x"}, "the key is not known", id="unknown"),
    ],
)
@pytest.mark.parametrize("wants_key", [True, False])
def test_a_wrong_key_is_refused_and_not_told(
    headers: dict[str, str], said: str, *, wants_key: bool
) -> None:
    with pytest.raises(Unauthenticated, match=said) as refused:
        caller(headers, KEYS, wants_key=wants_key)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("name", ["authorization", "x-api-key"])
def test_a_header_that_comes_twice_is_refused(name: str) -> None:
    sent = [(name, f"Bearer {SECRET}"), (name, f"Bearer {SECRET}x")]
    with pytest.raises(Unauthenticated, match="wanted one key, got 2"):
        authenticate(sent, ADDRESS, KEYS, wants_key=True, limits=LIMITS)


def test_a_key_where_there_is_no_file_of_keys_is_not_known() -> None:
    with pytest.raises(Unauthenticated, match="the key is not known"):
        caller({"x-api-key": SECRET})


BASIC = [("user:" + SECRET, True), (":" + SECRET, True), (SECRET, False), ("user:", False)]


@pytest.mark.parametrize(("login", "is_known"), BASIC)
def test_a_key_may_be_the_password_of_http_basic(login: str, is_known: bool) -> None:
    sent = {"authorization": f"Basic {b64encode(login.encode()).decode()}"}
    if is_known:
        assert caller(sent, KEYS).name == "key:north"
    else:
        with pytest.raises(Unauthenticated, match="this is no key"):
            caller(sent, KEYS)


def test_keys_with_a_last_day_end_the_soonest_first() -> None:
    days = {"a": "2027-01-02", "b": None, "c": "1970-01-02"}
    hashes = {name: sha256(name.encode()).hexdigest() for name in days}
    keys = Keys({name: Key(hashes[name], expires=day) for name, day in days.items()})
    assert list(keys.ends().items()) == [("c", 86400.0), ("a", 1798848000.0)]
