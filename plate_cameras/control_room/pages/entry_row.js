// One entry of a list: as it is shown, and as it is edited.

import { dateTimeOf, fromField, toField } from "./times.js";
import { element, say } from "../page/words.js";

const EDITS = [0, 1, 2];

// `actions` are `edit` and `drop`; false where the reader may do neither.
export function shownRow(entry, actions) {
  const row = element("tr", "", stateOf(entry));
  row.dataset.text = entry.text;
  const head = Object.assign(element("th"), { scope: "row" });
  head.append(element("code", entry.text));
  const until = element("td", entry.valid_until ? dateTimeOf(entry.valid_until) : say("for_ever"));
  if (stateOf(entry) !== "valid") until.append(" ", element("span", say(stateOf(entry)), "tag"));
  row.append(head, element("td", entry.note), element("td", entry.valid_from ? dateTimeOf(entry.valid_from) : "–"), until, element("td", say(`edits_${entry.edits}`)), buttonsOf(entry, actions));
  if (actions) row.addEventListener("dblclick", actions.edit);
  return row;
}

function stateOf({ valid_from: from, valid_until: until }) {
  if (until && Date.parse(until) <= Date.now()) return "expired";
  return from && Date.parse(from) > Date.now() ? "not_yet" : "valid";
}

function buttonsOf({ text }, actions) {
  const cell = element("td", "", "actions");
  if (!actions) return cell;
  for (const [name, work] of [["edit", actions.edit], ["remove", actions.drop]]) {
    const button = element("button", say(name), "quiet");
    button.type = "button";
    button.ariaLabel = `${say(name)}: ${text}`;
    button.addEventListener("click", work);
    cell.append(button);
  }
  return cell;
}

// `actions` are `save(entry)`, which may fail, and `cancel`.
export function editRow(entry, { save, cancel }) {
  const row = element("tr", "", "edited");
  const fields = fieldsOf(entry);
  for (const field of Object.values(fields)) {
    const cell = element(field === fields.text ? "th" : "td");
    cell.append(field);
    row.append(cell);
  }
  const [yes, no] = [element("button", say("save"), "main small"), element("button", say("cancel"), "small")];
  const problem = Object.assign(element("p", "", "row-problem"), { role: "alert" });
  const cell = element("td", "", "actions");
  cell.append(yes, no, problem);
  row.append(cell);
  const submit = async () => {
    yes.disabled = true;
    try {
      await save(valuesOf(fields));
    } catch (error) {
      problem.textContent = error.detail ? `${error.message} (${error.detail})` : error.message;
    }
    yes.disabled = false;
  };
  yes.addEventListener("click", submit);
  no.addEventListener("click", cancel);
  row.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.tagName !== "BUTTON") submit();
    if (event.key === "Escape") cancel();
  });
  return row;
}

function fieldsOf({ text, note, valid_from, valid_until, edits }) {
  const input = (name, type, value, more = {}) => Object.assign(element("input"), { type, value, ariaLabel: say(name), ...more });
  const choice = Object.assign(element("select"), { ariaLabel: say("edits") });
  choice.append(...EDITS.map((count) => new Option(say(`edits_${count}`), count, false, count === edits)));
  return {
    text: input("plate", "text", text, { autocomplete: "off", spellcheck: false, maxLength: 20, size: 9 }),
    note: input("note", "text", note, { maxLength: 500 }),
    valid_from: input("valid_from", "datetime-local", toField(valid_from)),
    valid_until: input("valid_until", "datetime-local", toField(valid_until)),
    edits: choice,
  };
}

function valuesOf({ text, note, valid_from, valid_until, edits }) {
  if (!text.value.trim()) throw new Error(say("text_wanted"));
  const times = { valid_from: fromField(valid_from.value) || null, valid_until: fromField(valid_until.value) || null };
  return { text: text.value.trim(), note: note.value.trim(), ...times, edits: Number(edits.value) };
}
