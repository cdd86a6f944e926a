// The entries of a list: shown, filtered, and edited in place.

import { get, put, remove } from "./api.js";
import { editRow, shownRow } from "./entry_row.js";
import { tell } from "./header.js";
import { may } from "./session.js";
import { announce, element, find, notify, say } from "../page/words.js";

const DRAWN = 400; // rows; the others come by the filter

let list = "";
let entries = [];
let onCount = () => {};

const pathOf = (text) => `v1/lists/${encodeURIComponent(list)}/entries${text ? `/${encodeURIComponent(text)}` : ""}`;

export async function openEntries(name, counted) {
  [list, onCount] = [name, counted];
  const answer = await get(pathOf(""));
  if (name !== list) return; // another list was chosen meanwhile
  entries = answer.entries;
  showEntries();
}

export function showEntries() {
  const wanted = find("filter").value.trim().toUpperCase();
  const shown = entries.filter(({ text, note }) => text.includes(wanted) || note.toUpperCase().includes(wanted));
  find("no-entries").hidden = shown.length > 0;
  find("entries").replaceChildren(...shown.slice(0, DRAWN).map(rowFor));
  if (shown.length > DRAWN) find("entries").append(restOf(shown.length - DRAWN));
}

function restOf(count) {
  const row = element("tr");
  const cell = element("td", say("more_entries", { count }), "faint");
  cell.colSpan = 6;
  row.append(cell);
  return row;
}

function rowFor(entry) {
  const row = shownRow(entry, may("editor") && { edit: () => open(row, entry), drop: () => drop(row, entry) });
  return row;
}

export function addEntry() {
  const empty = { text: "", note: "", valid_from: null, valid_until: null, edits: 0 };
  const row = editRow(empty, { save: (given) => keep(given, empty), cancel: () => row.remove() });
  find("no-entries").hidden = true;
  find("entries").prepend(row);
  row.querySelector("input").focus();
}

function open(row, entry) {
  const close = () => {
    const shown = rowFor(entry);
    edited.replaceWith(shown);
    shown.querySelector("button").focus();
  };
  const edited = editRow(entry, { save: (given) => keep(given, entry), cancel: close });
  row.replaceWith(edited);
  edited.querySelector("input").focus();
}

// Writes an entry. With another text it is a new one, and the old one goes.
async function keep(given, before) {
  const { text, ...rest } = given;
  const kept = await put(pathOf(text), rest);
  if (before.text && kept.text !== before.text) await remove(pathOf(before.text));
  const others = entries.filter((one) => one.text !== before.text && one.text !== kept.text);
  entries = [...others, kept].sort((one, other) => (one.text < other.text ? -1 : 1));
  showAgain(kept.text);
}

function showAgain(text) {
  showEntries();
  onCount(entries.length);
  announce(say("saved"));
  const row = [...find("entries").rows].find((one) => one.dataset.text === text);
  row?.querySelector("button")?.focus();
}

async function drop(row, { text }) {
  notify("");
  try {
    await remove(pathOf(text));
    entries = entries.filter((one) => one.text !== text);
    const next = row.nextElementSibling ?? row.previousElementSibling;
    row.remove();
    next?.querySelector("button")?.focus();
    find("no-entries").hidden = find("entries").rows.length > 0;
    onCount(entries.length);
    announce(say("entry_removed", { text }));
  } catch (problem) {
    tell(problem);
  }
}
