// One entry of a list: as it is shown, and as it is edited.

import { dateTimeOf, dayOf, toDayBound, toField } from "./times.js";
import { element, say, spell, tellProblem } from "../page/words.js";

const EDITS = [0, 1, 2];
const DOUBTFUL = "accept doubtful"; // what the service says about a text that can be taken nevertheless
const MIDNIGHT = "00:00";

// The start and the end of a period. Those of a day are the day alone: until 31 December counts to its end.
export const startOf = (time) => (isMidnight(time) ? dayOf(time) : dateTimeOf(time));
export const endOf = (time) => (isMidnight(time) ? dayOf(dayBefore(time)) : dateTimeOf(time));

const isMidnight = (time) => toField(time).slice(11) === MIDNIGHT;

function dayBefore(time) {
  const day = new Date(time);
  day.setDate(day.getDate() - 1);
  return day;
}

// `actions` are `edit` and `drop`; false where the reader may do neither.
export function shownRow(entry, actions) {
  const row = element("tr", "", stateOf(entry));
  row.dataset.text = entry.text;
  const head = Object.assign(element("th"), { scope: "row" });
  if (actions) head.append(Object.assign(element("input"), { type: "checkbox", ariaLabel: say("choose", { text: spell(entry.text) }) }), " ");
  head.append(element("code", spell(entry.text)));
  const until = element("td", entry.valid_until ? endOf(entry.valid_until) : say("for_ever"));
  if (stateOf(entry) !== "valid") until.append(" ", element("span", say(stateOf(entry)), "tag"));
  row.append(head, element("td", entry.note), element("td", entry.valid_from ? startOf(entry.valid_from) : "–"), until, element("td", say(`edits_${entry.edits}`)), buttonsOf(entry, actions));
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
    cell.append(...[field].flat());
    row.append(cell);
  }
  const [yes, no] = [element("button", say("save"), "main small"), element("button", say("cancel"), "small")];
  const problem = Object.assign(element("p", "", "row-problem"), { role: "alert" });
  const cell = element("td", "", "actions");
  cell.append(yes, no, problem);
  row.append(cell);
  const anyway = element("button", say("take_anyway"), "small");
  // The text that the entry has was accepted before.
  const submit = async (accepts = false) => {
    yes.disabled = true;
    anyway.remove();
    try {
      const values = valuesOf(fields);
      await save({ ...values, accept_doubtful: accepts || values.text === entry.text });
    } catch (error) {
      problem.textContent = tellProblem(error.message, error.detail);
      if (error.detail?.includes(DOUBTFUL)) cell.append(anyway);
    }
    yes.disabled = false;
  };
  yes.addEventListener("click", () => submit());
  anyway.addEventListener("click", () => submit(true));
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
    valid_from: periodFields("valid_from", toField(valid_from)),
    valid_until: periodFields("valid_until", endField(valid_until)),
    edits: choice,
  };
}

// A day, and a time of it that may be left out.
function periodFields(name, value) {
  const [day, clock] = value.split("T");
  const date = Object.assign(element("input"), { type: "date", value: day ?? "", ariaLabel: say(name) });
  const time = Object.assign(element("input"), { type: "time", value: clock && clock !== MIDNIGHT ? clock : "", ariaLabel: `${say(name)}: ${say("time_of_day")}` });
  return [date, time];
}

const endField = (time) => (time && isMidnight(time) ? toField(dayBefore(time)) : toField(time));

function timeOf([date, time], isEnd) {
  if (!date.value) {
    if (time.value) throw new Error(say("day_wanted"));
    return null;
  }
  return time.value ? new Date(`${date.value}T${time.value}`).toISOString() : toDayBound(date.value, isEnd);
}

function valuesOf({ text, note, valid_from, valid_until, edits }) {
  if (!text.value.trim()) throw new Error(say("text_wanted"));
  const times = { valid_from: timeOf(valid_from, false), valid_until: timeOf(valid_until, true) };
  return { text: text.value.trim(), note: note.value.trim(), ...times, edits: Number(edits.value) };
}
