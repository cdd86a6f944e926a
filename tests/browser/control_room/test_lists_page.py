"""The lists page: entries are edited in place and imported."""

from pathlib import Path

from plate_cameras.store.scope import EVERYTHING
from tests.browser.conftest import Open
from tests.browser.control_room.rooms import RunningRoom
from tests.browser.looking import download


def test_a_list_is_made_edited_and_imported(
    open_quiet: Open, room: RunningRoom, tmp_path: Path
) -> None:
    page = open_quiet("lists", timezone_id="UTC")
    page.fill("#new-name", "guests")
    page.get_by_role("button", name="Create").click()
    page.get_by_role("button", name="Add a plate").click()
    page.get_by_label("Plate", exact=True).fill("m456op199")
    page.get_by_label("Valid until", exact=True).fill("2027-02-01")
    page.get_by_label("Valid until: time").fill("12:00")
    page.get_by_role("combobox", name="Spelling").select_option("1")
    page.keyboard.press("Enter")
    page.locator("tr[data-text=M456OP199]").wait_for()
    (entry,) = room.store.lists.entries("guests", EVERYTHING)
    assert (entry.text, entry.valid_until_s, entry.edits) == ("M456OP199", 1_801_483_200.0, 1)

    page.get_by_role("button", name="Edit: M456OP199").click()
    page.get_by_role("textbox", name="Note", exact=True).fill("courier")
    page.get_by_role("button", name="Save").click()
    page.locator("tr[data-text=M456OP199]", has_text="courier").wait_for()

    wrong = tmp_path / "wrong.csv"
    wrong.write_text("text,edits\nK777KK177,0\nE001EE77,five\n")
    page.set_input_files("#file", wrong)
    page.locator(".wrong-lines", has_text="E001EE77").get_by_text("edits: wanted").wait_for()
    assert page.get_by_role("button", name="Import", exact=True).is_disabled()
    wrong.write_text("text,note\nK777KK177,neighbour\n")
    page.set_input_files("#file", wrong)
    page.get_by_text("New: 1, changed: 0, removed: 0.").wait_for()
    assert texts_of(room, "guests") == ["M456OP199"]
    page.get_by_role("button", name="Import", exact=True).click()
    page.locator("tr[data-text=K777KK177]").wait_for()
    notes = {entry.text: entry.note for entry in room.store.lists.entries("guests", EVERYTHING)}
    assert notes == {"K777KK177": "neighbour", "M456OP199": "courier"}

    page.get_by_role("button", name="Remove: K777KK177").click()
    page.locator("tr[data-text=K777KK177]").wait_for(state="detached")
    assert texts_of(room, "guests") == ["M456OP199"]


def texts_of(room: RunningRoom, name: str) -> list[str]:
    return [entry.text for entry in room.store.lists.entries(name, EVERYTHING)]


def test_a_wrong_entry_stays_open_and_an_empty_file_is_saved(open_quiet: Open) -> None:
    page = open_quiet("lists?list=residents")
    page.get_by_role("button", name="Edit: A123BC77").click()
    page.get_by_label("Plate", exact=True).fill("*")
    page.keyboard.press("Enter")
    page.locator(".row-problem", has_text="text").wait_for()
    page.keyboard.press("Escape")
    page.locator("tr[data-text=A123BC77]").wait_for()
    file = download(page, "Empty file to fill in")
    assert file.path().read_text("utf-8-sig").startswith("plate;note;valid from")


def test_a_long_list_is_shown_page_by_page_and_filtered_by_the_server(
    open_quiet: Open, room: RunningRoom
) -> None:
    rows = [f"A{at:03}BC77,{'дом 9' if at == 249 else ''}" for at in range(250)]
    room.store.lists.create("suppliers")
    room.store.lists.import_csv("suppliers", "\n".join(["text,note", *rows]))
    page = open_quiet("lists?list=suppliers")
    page.get_by_role("button", name="Show more").click()
    page.locator("tr[data-text=A249BC77]").wait_for()
    assert page.locator("#entries tr").count() == 250
    assert page.get_by_role("button", name="Show more").count() == 0
    page.fill("#filter", "ДОМ 9")
    page.locator("tr[data-text=A000BC77]").wait_for(state="detached")
    assert page.locator("#entries tr").count() == 1
    page.fill("#filter", "H999")
    page.get_by_text("No plate of the list fits the filter.").wait_for()
    page.fill("#filter", "\u0430 249 \u0432\u0441-77 RUS")
    page.get_by_role("button", name="Remove: A249BC77").click()
    page.locator("#names", has_text="249").wait_for()


def test_a_file_of_a_russian_office_is_imported(
    open_quiet: Open, room: RunningRoom, tmp_path: Path
) -> None:
    room.store.lists.create("office")
    page = open_quiet("lists?list=office", timezone_id="Asia/Vladivostok")
    page.get_by_text("No plates here.").wait_for()
    file = tmp_path / "office.csv"
    head = "номер;примечание\n"
    file.write_text(f"{head}AO12BC77;дом 9\n", encoding="cp1251")
    page.set_input_files("#file", file)
    page.locator(".wrong-lines", has_text="AO12BC77").get_by_text("A012BC77").wait_for()
    go = page.get_by_role("button", name="Import", exact=True)
    assert go.is_disabled()
    page.get_by_label("Import them nevertheless").check()
    go.click()
    page.locator("tr[data-text=AO12BC77]", has_text="дом 9").wait_for()
    content = f"{head.strip()};до\n\u0430 123 \u0432\u0441 77 RUS;дом 9;31.12.2037\n;\n"
    file.write_text(content, encoding="cp1251")
    page.set_input_files("#file", file)
    page.locator(".import-entries", has_text="A123BC77").get_by_text("31 Dec 2037").wait_for()
    go.click()
    page.locator("tr[data-text=A123BC77]", has_text="дом 9").get_by_text("31 Dec 2037").wait_for()


def test_a_doubtful_plate_is_asked_about_and_an_end_is_the_end_of_that_day(
    open_quiet: Open, room: RunningRoom
) -> None:
    room.store.lists.create("horses")
    page = open_quiet("lists?list=horses", timezone_id="Europe/Moscow")
    page.get_by_role("button", name="Add a plate").click()
    page.get_by_label("Plate", exact=True).fill("horse")
    page.get_by_label("Valid until", exact=True).fill("2037-12-31")
    page.keyboard.press("Enter")
    page.locator(".row-problem", has_text="A123BC77").wait_for()
    assert texts_of(room, "horses") == []
    page.get_by_role("button", name="Take it nevertheless").click()
    page.locator("tr[data-text=HORSE]", has_text="31 Dec 2037").wait_for()
    (entry,) = room.store.lists.entries("horses", EVERYTHING)
    assert entry.valid_until_s == 2_145_906_000.0
    page.get_by_role("button", name="Edit: HORSE").click()
    assert page.get_by_label("Valid until", exact=True).input_value() == "2037-12-31"
    page.get_by_role("textbox", name="Note", exact=True).fill("of the police")
    page.keyboard.press("Enter")
    page.locator("tr[data-text=HORSE]", has_text="of the police").wait_for()


def test_entries_that_were_removed_together_come_back(open_quiet: Open, room: RunningRoom) -> None:
    room.store.lists.create("visitors", "")
    room.store.lists.import_csv("visitors", "text,note\nB456OP77,flat 7\nC777CC177,\nA001AA77,\n")
    page = open_quiet("lists?list=visitors")
    for text in ("B456OP77", "C777CC177"):
        page.get_by_label(f"Choose {text}").check()
    page.get_by_role("button", name="Remove the chosen: 2").click()
    page.get_by_text("2 plates were removed.").locator("visible=true").first.wait_for()
    assert page.locator("#entries [data-text]").count() == 1
    page.get_by_role("button", name="Undo").click()
    page.locator("tr[data-text=B456OP77]", has_text="flat 7").wait_for()
    assert page.locator("#entries [data-text]").count() == 3
