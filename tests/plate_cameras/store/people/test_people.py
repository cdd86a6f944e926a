"""People and their sessions in both databases."""

import threading
from dataclasses import replace

import pytest
import sqlalchemy as sa

from orchestrator.errors import ParameterError
from plate_cameras.configuration import Store
from plate_cameras.store.errors import StoreError
from plate_cameras.store.factory import open_store
from plate_cameras.store.finding.pass_query import Requester
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.people.people import LastAdministrator, NameTaken, Person
from plate_cameras.store.people.sessions import MAX_PER_PERSON
from plate_cameras.store.scope import EVERYTHING
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import searches, sessions
from tests.plate_cameras.store.stored_events import NOW_S

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


def test_changes_are_in_the_audit_without_passwords(store: PassStore, url: str) -> None:
    add(store, ANNA)
    store.people.change(replace(ANNA, role="viewer"), REQUESTER, password_hash="other")
    store.people.remove("anna", REQUESTER)
    database = Database(url)
    with database.reading() as connection:
        rows = connection.execute(sa.select(searches).order_by(searches.c.number)).all()
    database.close()
    assert [(row.who, row.kind) for row in rows] == [
        ("tester", "add person"),
        ("tester", "change person"),
        ("tester", "remove person"),
    ]
    assert rows[1].query == {
        "name": "anna",
        "role": "viewer",
        "groups": [],
        "is_disabled": False,
        "password": True,
    }


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(replace(ANNA, role="editor"), id="another role"),
        pytest.param(replace(ANNA, is_disabled=True), id="disabled"),
        pytest.param(replace(ANNA, groups=("north",)), id="only one group"),
    ],
)
def test_the_last_administrator_stays_one(store: PassStore, change: Person) -> None:
    others = (
        Person("boris", "administrator", ("north",)),
        Person("clara", "administrator", is_disabled=True),
        Person("dmitri", "editor"),
    )
    add(store, ANNA, *others)
    with pytest.raises(LastAdministrator, match="anna is the last administrator of all cameras"):
        store.people.change(change, REQUESTER, keeps_administrator=True)
    with pytest.raises(LastAdministrator):
        store.people.remove("anna", REQUESTER, keeps_administrator=True)
    assert store.people.all(EVERYTHING) == [ANNA, *others]
    store.people.change(change, REQUESTER)  # on the machine itself it is possible


def test_two_administrators_cannot_remove_each_other_at_once(store: PassStore) -> None:
    add(store, ANNA, Person("boris", "administrator"))
    together, failures = threading.Barrier(2), []

    def remove(name: str) -> None:
        together.wait(10)
        try:
            store.people.remove(name, REQUESTER, keeps_administrator=True)
        except StoreError as error:
            failures.append(type(error))

    threads = [threading.Thread(target=remove, args=[name]) for name in ("anna", "boris")]
    [thread.start() for thread in threads]
    [thread.join(30) for thread in threads]
    assert failures == [LastAdministrator]
    assert len(store.people.all(EVERYTHING)) == 1


@pytest.mark.parametrize(
    ("name", "role", "groups", "said"),
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
    name: str, role: str, groups: tuple[str, ...], said: str
) -> None:
    with pytest.raises(ParameterError, match=said):
        Person(name, role, groups)


def test_the_table_of_sessions_holds_no_token(store: PassStore, url: str) -> None:
    add(store, ANNA)
    begin(store)
    database = Database(url)
    with database.reading() as connection:
        (row,) = connection.execute(sa.select(sessions)).all()
    database.close()
    assert b"token" not in row.token_digest
    assert len(row.token_digest) == 32


def test_a_session_ends_in_time(store: PassStore, url: str, tmp_path) -> None:
    add(store, ANNA)
    begin(store)
    for_an_hour = open_store(Store(url=url), tmp_path, clock=lambda: NOW_S + 3599)
    assert for_an_hour.sessions.find("token") == ANNA
    for_an_hour.close()
    later = open_store(Store(url=url), tmp_path, clock=lambda: NOW_S + 3600)
    assert later.sessions.find("token") is None
    later.close()


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
    begun = [begin(store, f"token {number}") for number in range(MAX_PER_PERSON + 5)]
    found = [store.sessions.find(f"token {number}") for number in range(len(begun))]
    assert all(begun)
    assert found.count(ANNA) == MAX_PER_PERSON
    assert found[-1] == ANNA


def test_a_password_is_replaced_once_and_all_sessions_end(store: PassStore) -> None:
    add(store, ANNA, BORIS)
    begin(store)
    store.sessions.begin("boris", "hash", "boris's", 3600)
    assert store.people.replace_password("anna", "hash", "new")
    assert not store.people.replace_password("anna", "hash", "newer")
    found = store.people.find("anna")
    assert found is not None
    assert found.password_hash == "new"
    assert store.sessions.find("token") is None
    assert store.sessions.find("boris's") == BORIS


def test_a_disabled_person_replaces_no_password(store: PassStore) -> None:
    add(store, replace(BORIS, is_disabled=True))
    assert not store.people.replace_password("boris", "hash", "new")
