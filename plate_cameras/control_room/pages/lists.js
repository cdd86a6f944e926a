// The lists page: the names at the side, and one list with its entries.

import { address, getAll, put, remove } from "./api.js";
import { askFor, confirm } from "./dialogs.js";
import { saveAnswer } from "./downloads.js";
import { addEntry, filterEntries, openEntries } from "./entries.js";
import { showHeader, tell } from "./header.js";
import { connectImport, forgetImport } from "./imports.js";
import { keepQuery } from "./language.js";
import { may } from "./session.js";
import { keepLook, lookOf, SOUNDS, TONES } from "./tones.js";
import { announce, element, find, notify, say, words } from "../page/words.js";

let lists = [];
let current = new URLSearchParams(location.search).get("list") ?? "";

const pathOf = (name) => `v1/lists/${encodeURIComponent(name)}`;

async function refresh() {
  lists = await getAll("v1/lists", "lists");
  if (!lists.some(({ name }) => name === current)) current = lists[0]?.name ?? "";
  showNames();
  await showList();
}

function showNames() {
  find("no-lists").hidden = lists.length > 0;
  find("names").replaceChildren(
    ...lists.map(({ name, entries }) => {
      const item = element("li");
      const link = element("a", "", `tone-${lookOf(name).tone}`);
      link.href = address("lists", { list: name });
      if (name === current) link.ariaCurrent = "true";
      link.append(element("span", "", "dot tone"), element("span", name), element("span", entries, "number faint"));
      link.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        choose(name);
      });
      item.append(link);
      return item;
    }),
  );
}

function choose(name) {
  forgetImport();
  current = name;
  history.pushState(null, "", address("lists", { list: name }));
  keepQuery();
  showNames();
  showList().catch(tell);
}

async function showList() {
  const list = lists.find(({ name }) => name === current);
  find("list").hidden = !list;
  if (!list) return;
  find("list-name").textContent = list.name;
  const cameras = list.cameras?.length ? say("used_by", { cameras: list.cameras.join(", ") }) : say("used_by_none", { setting: `lists = [${JSON.stringify(list.name)}]` });
  const kept = list.retention_days === null ? "" : say("kept_days", { count: list.retention_days });
  find("list-told").textContent = [cameras, kept].filter(Boolean).join(" · ");
  find("list-note").textContent = list.note;
  find("import-told").replaceChildren();
  showLook(list.name);
  await whileInert(() => openEntries(list.name, countAgain));
}

// While another list comes, nothing can be changed in the one that is shown. The focus comes back.
async function whileInert(work) {
  const focused = find("list").contains(document.activeElement) ? document.activeElement : undefined;
  find("list").inert = true;
  try {
    return await work();
  } finally {
    find("list").inert = false;
    if (document.activeElement === document.body) focused?.focus();
  }
}

async function countAgain() {
  lists = await getAll("v1/lists", "lists");
  showNames();
}

function showLook(name) {
  const look = lookOf(name);
  const choices = (key, values, prefix) => values.map((value) => choiceOf(key, value, look[key] === value, say(`${prefix}_${value}`)));
  const sounds = element("span", "", "row sounds");
  sounds.append(...choices("sound", SOUNDS, "sound"));
  find("tones").replaceChildren(...choices("tone", TONES, "tone"), sounds);
}

function choiceOf(key, value, isChosen, told) {
  const label = element("label", "", key === "tone" ? `swatch tone-${value}` : "check");
  const input = Object.assign(element("input"), { type: "radio", name: `look-${key}`, value, checked: isChosen });
  input.addEventListener("change", () => {
    keepLook(current, { [key]: value });
    showNames();
  });
  label.append(input, element("span", told, key === "tone" ? "unseen" : ""));
  if (key === "tone") label.title = told;
  return label;
}

async function create(event) {
  event.preventDefault();
  const name = find("new-name").value.trim();
  if (!name) return;
  await whileInert(async () => {
    await put(pathOf(name), { note: "", retention_days: null });
    find("new-name").value = "";
    current = name;
    await refresh();
  });
  history.pushState(null, "", address("lists", { list: name }));
  announce(say("saved"));
}

async function changeSettings() {
  const { note, retention_days: days } = lists.find(({ name }) => name === current);
  const fields = [
    { name: "note", label: say("note"), value: note, maxLength: 500 },
    { name: "days", label: say("retention"), kind: "number", min: 0, max: 36500, step: "any", value: days ?? "", hint: say("retention_hint") },
  ];
  const check = (given) => put(pathOf(current), { note: given.note, retention_days: given.days === "" ? null : Number(given.days) });
  if (await askFor({ title: current, fields, check })) await refresh();
}

async function drop() {
  const { entries } = lists.find(({ name }) => name === current);
  if (!(await confirm(say("delete_list", { name: current }), say("delete_list_told", { count: entries }), say("delete")))) return;
  await remove(pathOf(current));
  current = "";
  history.replaceState(null, "", address("lists"));
  await refresh();
  (find("names").querySelector("a") ?? find("new-name")).focus();
  announce(say("saved"));
}

const doing = (work) => (event) => {
  notify("");
  work(event)?.catch(tell);
};

showHeader();
find("create").addEventListener("submit", doing(create));
find("list-settings").addEventListener("click", doing(changeSettings));
find("list-delete").addEventListener("click", doing(drop));
find("list-export").addEventListener("click", doing(() => saveAnswer(`${pathOf(current)}/entries`, { format: words.language === "ru" ? "excel" : "csv" }, `${current}.csv`)));
find("add-entry").addEventListener("click", () => addEntry());
find("filter").addEventListener("input", () => filterEntries());
if (may("editor")) connectImport(() => current, refresh);
window.addEventListener("popstate", () => {
  current = new URLSearchParams(location.search).get("list") ?? "";
  refresh().catch(tell);
});
refresh().catch(tell);
