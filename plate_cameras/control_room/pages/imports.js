// Import of a file into a list. It is shown first: nothing is imported before the reader says so.

import { send } from "./api.js";
import { saveAnswer } from "./downloads.js";
import { endOf, startOf } from "./entry_row.js";
import { tell } from "./header.js";
import { element, find, say, sayDetail, spell, words } from "../page/words.js";

const SHOWN = 20; // wrong rows, and doubtful ones
const CSV = "text/csv";
const WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

let asked = 0; // the last preview; answers to earlier ones are not shown

// `nameOf()` is the list, `done()` shows it again.
export function connectImport(nameOf, done) {
  const box = find("drop");
  const take = (file) => preview(file, nameOf(), done);
  box.addEventListener("submit", (event) => event.preventDefault());
  find("template").addEventListener("click", () => saveAnswer("v1/list-template", { language: words.language }, "plates.csv").catch(tell));
  find("file").addEventListener("change", ({ target }) => {
    if (target.files.length) take(target.files[0]);
    target.value = ""; // so that the same file can be chosen again
  });
  for (const [event, on] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
    box.addEventListener(event, (given) => {
      given.preventDefault();
      box.classList.toggle("dropping", on);
    });
  }
  box.addEventListener("drop", ({ dataTransfer }) => {
    if (dataTransfer.files.length) take(dataTransfer.files[0]);
  });
}

// What was told about a file belongs to one list.
export function forgetImport() {
  asked += 1;
  find("import-told").replaceChildren();
}

async function preview(file, name, done) {
  forgetImport();
  const own = asked;
  const mode = { replace: find("replace").checked, time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone };
  const request = async (path, query) => {
    const kind = file.name.toLowerCase().endsWith(".xlsx") ? WORKBOOK : CSV;
    return (await send("POST", `v1/lists/${encodeURIComponent(name)}/${path}`, { query: { ...mode, ...query }, body: await file.arrayBuffer(), kind })).json();
  };
  try {
    const told = await request("preview", {});
    if (own === asked) show(file, told, (accept) => request("entries", { accept_doubtful: accept }), done);
  } catch (problem) {
    if (own === asked) find("import-told").replaceChildren(...failureOf(problem, file));
  }
}

function show(file, told, work, done) {
  const [go, no] = [element("button", say("import_go"), "main small"), element("button", say("cancel"), "small")];
  const accept = Object.assign(element("input"), { type: "checkbox", id: "accept-doubtful" });
  const check = () => (go.disabled = told.wrong_rows > 0 || !told.rows || (told.doubtful_rows > 0 && !accept.checked));
  for (const button of [go, no]) button.type = "button";
  accept.addEventListener("change", check);
  no.addEventListener("click", forgetImport);
  go.addEventListener("click", async () => {
    go.disabled = true;
    try {
      const { imported } = await work(accept.checked);
      await done();
      find("import-told").replaceChildren(element("p", say("imported", { count: imported, file: file.name }), "banner good"));
    } catch (problem) {
      find("import-told").replaceChildren(...failureOf(problem, file));
    }
  });
  check();
  const buttons = element("div", "", "row");
  buttons.append(go, no);
  const counts = say("import_counts", { file: file.name, rows: told.rows, added: told.added, changed: told.changed, removed: told.removed });
  find("import-told").replaceChildren(
    element("p", counts, "import-counts"),
    ...rowsOf("import_wrong", told.wrong, told.wrong_rows),
    ...rowsOf("import_doubtful", told.doubtful, told.doubtful_rows, labelOf(accept)),
    entriesOf(told.entries),
    buttons,
  );
}

function labelOf(accept) {
  const label = element("label", "", "check");
  label.append(accept, ` ${say("accept_doubtful")}`);
  return label;
}

function rowsOf(title, rows, count, ...more) {
  if (!count) return [];
  const list = element("ol", "", "wrong-lines");
  for (const { line, text, problem } of rows.slice(0, SHOWN)) {
    const item = element("li");
    const reason = element("span", sayDetail(problem) || problem, "faint");
    item.append(element("b", say("csv_line", { number: line })), element("code", text), reason);
    list.append(item);
  }
  if (count > SHOWN) list.append(element("li", say("more_lines", { count: count - SHOWN })));
  return [element("p", say(title, { count }), "banner warm"), list, ...more];
}

function entriesOf(entries) {
  const table = element("table", "", "grid import-entries");
  for (const entry of entries) {
    const row = element("tr");
    const times = [entry.valid_from && `${say("valid_from")} ${startOf(entry.valid_from)}`, entry.valid_until && `${say("valid_until")} ${endOf(entry.valid_until)}`];
    row.append(element("th", spell(entry.text)), element("td", entry.note), element("td", times.filter(Boolean).join(", ")));
    table.append(row);
  }
  return table;
}

function failureOf(problem, file) {
  return [element("p", say("import_failed", { file: file.name }), "banner warm"), element("p", sayDetail(problem.detail) || problem.message, "faint")];
}
