"""People and their sessions in both databases."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from orchestrator.errors import ParameterError
from plate_cameras.store.finding.pass_query import Requester
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.people.login_attempts import AttemptLimit, LoginAttempts
from plate_cameras.store.people.people import LastAdministrator, NameTaken, Person
from plate_cameras.store.people.sessions import MAX_PER_PERSON
from plate_cameras.store.scope import EVERYTHING
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import login_attempts, searches, sessions
from tests.plate_cameras.store.stored_events import NOW_S, read_column, read_rows
from tests.virtual_time import Clock

ANNA, BORIS = Person("anna", "administrator"), Person("boris", "viewer", ("north", "юг"))
REQUESTER = Requester("tester", "test")


def add(store: PassStore, *people: Person) -> None:
    for person in people:
        store.people.add(person, "hash", REQUESTER)


def begin(store: PassStore, token: str = "token", checked_hash: str = "hash") -> bool:
    return store.sessions.begin("anna", checked_hash, token, 3600)


def test_a_name_is_given_once(store: PassStore) -> None:
    add(store, ANNA)
    with pytest.raises(NameTaken, match="there is a person 'anna' already"):
        store.people.add(Person("anna", "viewer"), "other", REQUESTER)
    assert store.people.all(EVERYTHING) == [ANNA]


def test_changes_are_in_the_audit_without_passwords(store: PassStore, database: Database) -> None:
    add(store, ANNA)
    store.people.change(replace(ANNA, role="viewer"), REQUESTER, password_hash="other")
    store.people.remove("anna", REQUESTER)
    columns = (searches.c[name] for name in ("number", "who", "kind", "query"))
    addition, change, removal = (row[1:] for row in read_rows(database, *columns))
    anna = {"name": "anna", "role": "viewer", "groups": [], "is_disabled": False}
    assert addition[:2] == ("tester", "add person")
    assert change == ("tester", "change person", {**anna, "password": True})
    assert removal[:2] == ("tester", "remove person")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(replace(ANNA, role="editor"), id="another role"),
        pytest.param(replace(ANNA, is_disabled=True), id="disabled"),
        pytest.param(replace(ANNA, groups=("north",)), id="only one group"),
    ],
)
def test_the_last_administrator_stays_one(store: PassStore, change: Person) -> None:
    other_people = (
        Person("boris", "administrator", ("north",)),
        Person("clara", "administrator", is_disabled=True),
        Person("dmitri", "editor"),
    )
    add(store, ANNA, *other_people)
    with pytest.raises(LastAdministrator, match="anna is the last administrator of all cameras"):
        store.people.change(change, REQUESTER, keeps_administrator=True)
    with pytest.raises(LastAdministrator):
        store.people.remove("anna", REQUESTER, keeps_administrator=True)
    assert store.people.all(EVERYTHING) == [ANNA, *other_people]
    store.people.change(change, REQUESTER)  # on the machine itself it is possible


def test_two_administrators_cannot_remove_each_other_at_once(store: PassStore) -> None:
    add(store, ANNA, Person("boris", "administrator"))
    together = threading.Barrier(2)

    def remove(name: str) -> None:
        together.wait(10)
        store.people.remove(name, REQUESTER, keeps_administrator=True)

    with ThreadPoolExecutor(2) as threads:
        removals = [threads.submit(remove, name) for name in ("anna", "boris")]
    (failure,) = filter(None, (removal.exception() for removal in removals))
    assert isinstance(failure, LastAdministrator)
    assert len(store.people.all(EVERYTHING)) == 1


@pytest.mark.parametrize(
    ("name", "role", "groups", "message"),
    [
        pytest.param("", "viewer", (), "name: wanted 1 to 64", id="no name"),
        pytest.param("Anna", "viewer", (), "name: wanted 1 to 64", id="capital letter"),
        pytest.param("key:anna", "viewer", (), "name: wanted 1 to 64", id="name of a key"),
        pytest.param("local", "viewer", (), "name: wanted 1 to 64", id="reserved"),
        pytest.param("anna", "boss", (), "role: wanted one of viewer, editor", id="role"),
        pytest.param("anna", "viewer", ("",), "groups: wanted at most 100 names", id="group"),
    ],
)
def test_a_person_that_cannot_be_is_rejected(
    name: str, role: str, groups: tuple[str, ...], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        Person(name, role, groups)


def test_a_session_ends_in_time_and_its_token_is_not_stored(
    store: PassStore, url: str, database: Database, opening: Callable[..., PassStore]
) -> None:
    add(store, ANNA)
    begin(store)
    (digest,) = read_column(database, sessions.c.token_digest)
    assert (b"token" in digest, len(digest)) == (False, 32)
    for age_s, person in ((3599, ANNA), (3600, None)):
        later = opening(url, clock=lambda now_s=NOW_S + age_s: now_s)
        assert later.sessions.find("token") == person


def test_sessions_end_with_the_person_the_password_and_when_disabled(store: PassStore) -> None:
    add(store, ANNA)
    begin(store)
    store.people.change(replace(ANNA, role="viewer"), REQUESTER)
    assert store.sessions.find("token") == Person("anna", "viewer")
    store.people.change(ANNA, REQUESTER, password_hash="other")
    assert store.sessions.find("token") is None
    begin(store, checked_hash="other")
    store.people.change(replace(ANNA, is_disabled=True), REQUESTER)
    store.people.change(ANNA, REQUESTER)
    assert store.sessions.find("token") is None
    begin(store, checked_hash="other")
    store.people.remove("anna", REQUESTER)
    add(store, ANNA)
    assert store.sessions.find("token") is None


def test_a_session_does_not_begin_after_a_change_during_the_check(store: PassStore) -> None:
    add(store, ANNA)
    assert not begin(store, checked_hash="older")
    store.people.change(replace(ANNA, is_disabled=True), REQUESTER)
    assert not begin(store)
    assert store.sessions.find("token") is None


def test_a_person_has_few_sessions(store: PassStore) -> None:
    add(store, ANNA)
    are_begun = [begin(store, f"token {number}") for number in range(MAX_PER_PERSON + 5)]
    people = [store.sessions.find(f"token {number}") for number in range(len(are_begun))]
    assert all(are_begun)
    assert people.count(ANNA) == MAX_PER_PERSON
    assert people[-1] == ANNA


def test_a_password_is_replaced_once_and_all_sessions_end(store: PassStore) -> None:
    add(store, ANNA, BORIS)
    begin(store)
    store.sessions.begin("boris", "hash", "boris's", 3600)
    assert store.people.replace_password("anna", "hash", "new")
    assert not store.people.replace_password("anna", "hash", "newer")
    stored_person = store.people.find("anna")
    assert stored_person is not None
    assert stored_person.password_hash == "new"
    assert store.sessions.find("token") is None
    assert store.sessions.find("boris's") == BORIS
    store.people.change(replace(BORIS, is_disabled=True), REQUESTER)
    assert not store.people.replace_password("boris", "hash", "new")


OF_ANNA = AttemptLimit("name anna", 3, 10)
OF_BORIS = AttemptLimit("name boris", 3, 10)
DESK = AttemptLimit("address 10.0.0.5", 4, 1)


@pytest.fixture
def attempts(database: Database, clock: Clock) -> LoginAttempts:
    return LoginAttempts(database, clock)


def waits(attempts: LoginAttempts, *limits: AttemptLimit, times: int) -> list[float]:
    return [attempts.take(limits) for _ in range(times)]


def test_an_attempt_is_allowed_again_after_each_interval(
    attempts: LoginAttempts, database: Database, clock: Clock
) -> None:
    waits(attempts, OF_ANNA, times=100)  # those that are refused do not count
    clock.now_s += 9
    assert LoginAttempts(database, clock).take([OF_ANNA]) == 1  # in another process
    clock.now_s += 1
    assert waits(attempts, OF_ANNA, times=2) == [0, 10]
    clock.now_s += 1000
    assert waits(attempts, OF_ANNA, times=4) == [0, 0, 0, 10]


def test_an_attempt_that_succeeds_is_given_back(attempts: LoginAttempts) -> None:
    waits(attempts, OF_ANNA, DESK, times=3)
    attempts.give_back([OF_ANNA, DESK])
    assert waits(attempts, OF_ANNA, times=2) == [0, 10]
    attempts.give_back([OF_ANNA]), attempts.give_back([OF_ANNA]), attempts.give_back([OF_ANNA])
    assert waits(attempts, OF_ANNA, DESK, times=4) == [0, 0, 1, 1]


def test_one_limit_is_enough_to_wait(attempts: LoginAttempts) -> None:
    assert waits(attempts, OF_ANNA, DESK, times=4) == [0, 0, 0, 10]
    assert waits(attempts, OF_BORIS, DESK, times=2) == [0, 1]
    assert waits(attempts, OF_BORIS, times=3) == [0, 0, 10]  # nothing was counted for Boris alone


def test_attempts_at_the_same_moment_pass_no_limit(attempts: LoginAttempts) -> None:
    together = threading.Barrier(8)

    def take(_: int) -> float:
        together.wait(10)
        return attempts.take([OF_ANNA, DESK])

    with ThreadPoolExecutor(8) as threads:
        assert sorted(threads.map(take, range(8))) == [0, 0, 0, 10, 10, 10, 10, 10]


def test_the_table_holds_no_names_and_forgets(
    attempts: LoginAttempts, database: Database, clock: Clock
) -> None:
    waits(attempts, OF_ANNA, DESK, times=2)
    digests = sorted([OF_ANNA.digest, DESK.digest])
    assert read_column(database, login_attempts.c.subject) == digests
    clock.now_s += 20
    waits(attempts, OF_BORIS, times=1)
    assert read_column(database, login_attempts.c.subject) == [OF_BORIS.digest]
