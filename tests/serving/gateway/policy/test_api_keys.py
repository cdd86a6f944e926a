"""API keys identify callers; error messages contain no part of a key."""

import errno
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
from orchestrator.serving.gateway.policy.api_keys import Key, KeyFile, Keys, parse_keys, read_keys
from orchestrator.serving.gateway.policy.authentication import authenticate
from orchestrator.serving.gateway.policy.clients import ARCHIVE, GATE, USUAL, Client, client_at
from tests.virtual_time import Clock

LIMITS = Limits(client_calls=5, client_rate=7.0)
ADDRESS = client_at("192.0.2.1", LIMITS)
NEW_YEAR = 1798761600.0  # 2027-01-01T00:00:00Z
SECRET = "plates_MOST-secret.4711"


def table(name: str, key: str, more: str = "") -> str:
    return f'[{name}]\nsha256 = "{sha256(key.encode()).hexdigest()}"\n{more}\n'


def caller(headers: dict[str, str], keys: Keys | None = None, *, wants_key: bool = False) -> Client:
    pairs = [*headers.items()]
    return authenticate(pairs, ADDRESS, keys, wants_key=wants_key, limits=LIMITS)


KEYS = parse_keys(table("north", SECRET))


@pytest.mark.parametrize(
    ("more", "client"),
    [
        ("", Client("key:a", 5, 7.0, USUAL)),
        ('priority = "archive"', Client("key:a", 5, 7.0, ARCHIVE)),
        ('priority = "gate"\ncalls = 8\nrate = 20', Client("key:a", 8, 20.0, GATE)),
        (
            'role = "viewer"\ngroups = ["north", "south"]',
            Client("key:a", 5, 7.0, USUAL, role="viewer", groups=("north", "south")),
        ),
    ],
    ids=["those of an address", "priority", "quotas", "role and groups"],
)
def test_a_key_brings_its_rights(more: str, client: Client) -> None:
    keys = parse_keys(table("b", "another") + table("a", SECRET, more))
    assert keys.client_of(SECRET, LIMITS) == client


@pytest.mark.parametrize("day", ["2027-01-01", '"2027-01-01"'])
def test_a_key_is_good_until_its_day_begins(day: str) -> None:
    text = table("guest", "k", f"expires = {day}")
    before, after = parse_keys(text, lambda: NEW_YEAR - 1), parse_keys(text, lambda: NEW_YEAR)
    assert before.client_of("k", LIMITS).name == "key:guest"
    with pytest.raises(Unauthenticated, match="the key has expired, on 2027-01-01"):
        after.client_of("k", LIMITS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a", "wanted TOML, got: "),
        ("\xff", "'utf-8' codec"),
        ("a = 1", r"\[a\] content: wanted a table, got 1"),
        ("[a]", r"\[a\] wanted sha256, got none"),
        ('[a]\nsha256 = "12"', r"\[a\] sha256: wanted 64 hex digits"),
        (table("a", "k").replace("8254c", "8254C"), r"\[a\] sha256: wanted 64 hex digits"),
        (table("A", "k"), "name: wanted small letters.*got 'A'"),
        (table("a", "k", "calls = 0"), r"\[a\] calls: wanted 1 to .*, got 0"),
        (table("a", "k", "rate = 0"), r"\[a\] rate: wanted 0\.001 to .*, got 0"),
        (table("a", "k", 'priority = "vip"'), r"\[a\] priority: wanted one of gate, .*, got 'vip'"),
        (table("a", "k", "hosts = 1"), r"\[a\] wanted some.*hosts"),
        (table("a", "k", 'expires = "soon"'), r"\[a\] expires: wanted a date.*'soon'"),
        (table("a", "k", "expires = 2027-01-01T10:00:00Z"), r"\[a\] expires: wanted a date"),
        (
            table("a", "k", 'role = "boss"'),
            r"\[a\] role: wanted one of sender, viewer, editor, administrator, got 'boss'",
        ),
        (table("a", "k", 'groups = ["north"]'), r"\[a\] groups: wanted a role beside them, got"),
        (
            table("a", "k", 'role = "viewer"\ngroups = []'),  # all or none?
            r"\[a\] groups: wanted names of groups, got \[\]",
        ),
        (table("a", "k") + table("b", "k"), r"\[b\] wanted a key of its own, got that of \[a\]"),
    ],
)
def test_a_file_that_is_wrong_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "keys.toml").write_text(text, "latin-1")
    with pytest.raises(SettingsError, match=f"keys.toml: .*{message}"):
        read_keys(tmp_path / "keys.toml")


def test_a_file_that_is_missing_is_refused_and_an_empty_one_has_no_key(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="none: wanted a file of keys, got No such file"):
        read_keys(tmp_path / "none")
    (tmp_path / "keys.toml").touch()
    assert dict(read_keys(tmp_path / "keys.toml").by_name) == {}


def test_a_key_written_in_place_of_its_hash_is_not_told() -> None:
    with pytest.raises(SettingsError) as refused:
        Key(SECRET)
    assert SECRET not in str(refused.value)


def test_a_file_that_changed_is_read_again_after_a_while(tmp_path: Path) -> None:
    file, clock = tmp_path / "keys.toml", Clock(0.0)
    file.write_text(table("a", "k"))
    key_file = KeyFile(file, clock)
    file.write_text(table("b", "k"))  # as long as before
    os.utime(file, (1, 1))
    clock.now_s = 4.9
    assert [*key_file.keys().by_name] == ["a"]
    clock.now_s = 5.0
    assert [*key_file.keys().by_name] == ["b"]


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
    key_file = KeyFile(file, clock)
    spoil(file)
    clock.now_s = 5.0
    with caplog.at_level(logging.ERROR):
        for clock.now_s in (5.0, 10.0):
            with pytest.raises(KeysUnavailable, match="cannot read its file of keys"):
                key_file.keys()
    assert key_file.is_broken
    assert len(caplog.messages) == 1
    assert caplog.messages[0].endswith("; no key is accepted until the file of keys is mended")
    file.write_text(table("b", "k"))
    clock.now_s = 15.0
    assert [*key_file.keys().by_name] == ["b"]
    assert not key_file.is_broken


def test_a_file_that_could_not_be_read_once_is_read_again(tmp_path: Path, monkeypatch) -> None:
    file, clock = tmp_path / "keys.toml", Clock(0.0)
    file.write_text(table("a", "k"))
    key_file = KeyFile(file, clock)
    file.write_text(table("a", "k") + table("b", "l"))
    with monkeypatch.context() as machine:
        machine.setattr(Path, "read_text", lambda *_, **__: open_none())
        clock.now_s = 5.0
        with pytest.raises(KeysUnavailable):
            key_file.keys()
    clock.now_s = 10.0
    assert [*key_file.keys().by_name] == ["a", "b"]


def open_none() -> str:
    raise OSError(errno.EMFILE, "Too many open files")


def basic(login: str) -> dict[str, str]:
    return {"authorization": f"Basic {b64encode(login.encode()).decode()}"}


@pytest.mark.parametrize(
    ("headers", "keys", "name"),
    [
        ({}, None, "192.0.2.1"),
        ({}, KEYS, "192.0.2.1"),
        ({"authorization": f"Bearer {SECRET}"}, KEYS, "key:north"),
        ({"authorization": f"bearer  {SECRET} "}, KEYS, "key:north"),
        ({"authorization": f"Token {SECRET}"}, KEYS, "key:north"),
        ({"x-api-key": SECRET}, KEYS, "key:north"),
        (basic(f"user:{SECRET}"), KEYS, "key:north"),
        (basic(f":{SECRET}"), KEYS, "key:north"),
    ],
)
def test_a_caller_is_known_by_its_key_or_address(
    headers: dict[str, str], keys: Keys | None, name: str
) -> None:
    assert caller(headers, keys, wants_key=name == "key:north").name == name


@pytest.mark.parametrize("keys", [KEYS, None])
def test_a_key_that_is_wanted_and_missing_is_asked_for(keys: Keys | None) -> None:
    with pytest.raises(Unauthenticated, match="wants a key: send a key as `Authorization: Bearer"):
        caller({"host": "x"}, keys, wants_key=True)


@pytest.mark.parametrize(
    ("headers", "keys", "message"),
    [
        ([("authorization", SECRET)], KEYS, "this is no key: send"),
        ([("authorization", f"Basic {SECRET}")], KEYS, "this is no key"),
        ([*basic("user:").items()], KEYS, "this is no key"),
        ([("authorization", "Bearer")], KEYS, "this is no key"),
        ([("authorization", f"Bearer {SECRET} x")], KEYS, "this is no key"),
        ([("x-api-key", "")], KEYS, "this is no key"),
        ([("x-api-key", f"{SECRET}é")], KEYS, "this is no key"),
        ([("x-api-key", SECRET * 20)], KEYS, "this is no key"),
        ([("authorization", f"Bearer {SECRET}"), ("x-api-key", SECRET)], KEYS, "one key, got 2"),
        ([("authorization", f"Bearer {SECRET}")] * 2, KEYS, "wanted one key, got 2"),
        ([("x-api-key", SECRET)] * 2, KEYS, "wanted one key, got 2"),
        ([("x-api-key", f"{SECRET}x")], KEYS, "the key is not known"),
        ([("x-api-key", SECRET)], None, "the key is not known"),
    ],
)
@pytest.mark.parametrize("wants_key", [True, False])
def test_a_wrong_key_is_refused_and_not_told(
    headers: list[tuple[str, str]], keys: Keys | None, message: str, *, wants_key: bool
) -> None:
    with pytest.raises(Unauthenticated, match=message) as refused:
        authenticate(headers, ADDRESS, keys, wants_key=wants_key, limits=LIMITS)
    assert "secret" not in str(refused.value)


def test_keys_with_a_last_day_end_the_soonest_first() -> None:
    days = {"a": "2027-01-02", "b": None, "c": "1970-01-02"}
    hashes = {name: sha256(name.encode()).hexdigest() for name in days}
    keys = Keys({name: Key(hashes[name], expires=day) for name, day in days.items()})
    assert list(keys.ends().items()) == [("c", 86400.0), ("a", 1798848000.0)]
