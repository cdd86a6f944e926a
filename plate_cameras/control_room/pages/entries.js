// The entries of a list: shown, filtered, and edited in place.

import { get, put, remove } from "./api.js";
import { editRow, shownRow } from "./entry_row.js";
import { tell } from "./header.js";
import { may } from "./session.js";
import { announce, element, find, notify, numberOf, say, spell } from "../page/words.js";

const PAGE = 200; // entries
const TYPING_MS = 300; // no letter for so long: the filter is complete

let list = "";
let entries = [];
let cursor = "";
let asked = 0; // the last request; answers to earlier ones are not shown
let typing = 0;
let onCount = () => {};

const pathOf = (text) => `v1/lists/${encodeURIComponent(list)}/entries${text ? `/${encodeURIComponent(text)}` : ""}`;

export async function openEntries(name, counted) {
  [list, onCount] = [name, counted];
  clearTimeout(typing);
  offerUndo([]);
  await load();
}

export function filterEntries() {
  clearTimeout(typing);
  typing = setTimeout(() => load().catch(tell), TYPING_MS);
}

async function load(from = "") {
  asked += 1;
  const own = asked;
  const page = await get(pathOf(""), { part: find("filter").value.trim(), limit: PAGE, cursor: from });
  if (own !== asked) return;
  const known = new Set(page.entries.map(({ text }) => text)); // one may have been added here
  const before = from ? entries.filter(({ text }) => !known.has(text)) : [];
  entries = [...before, ...page.entries];
  ({ cursor } = page);
  showEntries();
}

function showEntries() {
  find("no-entries").hidden = entries.length > 0;
  find("no-entries").textContent = say(find("filter").value.trim() ? "no_entry_fits" : "no_entries");
  find("entries").replaceChildren(...entries.map(rowFor), ...(cursor ? [moreRow()] : []));
  showChosen();
}

function moreRow() {
  const row = element("tr");
  const cell = element("td");
  const button = Object.assign(element("button", say("more_entries"), "quiet"), { type: "button" });
  button.addEventListener("click", async () => {
    const shown = entries.length;
    button.disabled = true;
    await load(cursor).catch(tell);
    button.disabled = false;
    find("entries").rows[shown]?.querySelector("button")?.focus();
  });
  cell.colSpan = 6;
  cell.append(button);
  row.append(cell);
  return row;
}

function rowFor(entry) {
  const row = shownRow(entry, may("editor") && { edit: () => open(row, entry), drop: () => drop([entry]).catch(tell) });
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
  await onCount();
  showAgain(kept.text);
}

function showAgain(text) {
  showEntries();
  announce(say("saved"));
  const row = [...find("entries").rows].find((one) => one.dataset.text === text);
  row?.querySelector("button")?.focus();
}

// Removes entries, and offers to bring them back.
async function drop(gone) {
  notify("");
  offerUndo([]);
  const place = entries.indexOf(gone[0]);
  const removed = [];
  try {
    for (const entry of gone) {
      await remove(pathOf(entry.text));
      removed.push(entry);
    }
  } catch (problem) {
    tell(problem);
  }
  entries = entries.filter((one) => !removed.includes(one));
  showEntries();
  const rows = find("entries").rows;
  (rows[Math.min(place, rows.length - 1)]?.querySelector("button") ?? find("add-entry")).focus();
  offerUndo(removed);
  await onCount();
}

function offerUndo(removed) {
  const box = find("undo");
  const paths = removed.map(({ text }) => pathOf(text)); // of this list, also when another one is shown
  const told = removed.length === 1 ? say("entry_removed", { text: spell(removed[0].text) }) : say("entries_removed", { count: numberOf(removed.length) });
  box.hidden = !removed.length;
  if (!removed.length) return;
  box.querySelector("span").textContent = told;
  announce(told);
  box.querySelector("button").onclick = async () => {
    box.hidden = true;
    try {
      for (const [index, { text, ...rest }] of removed.entries()) await put(paths[index], { ...rest, accept_doubtful: true });
    } catch (problem) {
      tell(problem);
    }
    await load().catch(tell);
    await onCount();
  };
}

const chosen = () => entries.filter(({ text }) => [...find("entries").querySelectorAll("[data-text]:has(input:checked)")].some((row) => row.dataset.text === text));

function showChosen() {
  const count = chosen().length;
  find("remove-chosen").hidden = !count;
  find("remove-chosen").textContent = say("remove_chosen", { count: numberOf(count) });
}

find("remove-chosen").addEventListener("click", () => drop(chosen()).catch(tell));
find("entries").addEventListener("change", showChosen);
