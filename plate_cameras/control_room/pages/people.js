// The people who may sign in, and the audit of what was searched. For administrators.

import { get, getAll, put, remove } from "./api.js";
import { askFor, confirm } from "./dialogs.js";
import { showHeader, tell } from "./header.js";
import { MIN_PASSWORD_CHARACTERS } from "./own_password.js";
import { may, session } from "./session.js";
import { dateTimeOf, whenOf } from "./times.js";
import { announce, element, find, notify, say, spell, words } from "../page/words.js";

const ROLES = ["viewer", "editor", "administrator"];
const PAGE = 50;

let cursor = "";

async function showPeople() {
  const people = await getAll("v1/people", "people");
  find("no-people").hidden = people.length > 0;
  find("people").replaceChildren(...people.map(rowOf));
}

function rowOf(person) {
  const { name, role, groups, is_disabled } = person;
  const row = element("tr", "", is_disabled ? "off" : "");
  const head = Object.assign(element("th", name), { scope: "row" });
  if (name === session.name) head.append(" ", element("span", say("you"), "tag"));
  const state = element("td");
  state.append(element("span", say(is_disabled ? "disabled" : "enabled"), `pill ${is_disabled ? "" : "good"}`));
  const actions = element("td", "", "actions");
  actions.append(action(say("edit"), name, () => edit(person)), action(say("set_password"), name, () => setPassword(person)), action(say("delete"), name, () => drop(person)));
  row.append(head, element("td", say(`role_${role}`)), element("td", groups.join(", ") || say("all_groups")), state, actions);
  return row;
}

function action(text, name, work) {
  const button = element("button", text, "quiet");
  button.type = "button";
  button.ariaLabel = `${text}: ${name}`;
  button.addEventListener("click", () => work().catch(tell));
  return button;
}

const passwordField = () => ({ name: "password", label: say("password"), kind: "password", required: true, minLength: MIN_PASSWORD_CHARACTERS, autocomplete: "new-password", hint: say("password_hint", { count: MIN_PASSWORD_CHARACTERS }) });

function fieldsOf({ role = "viewer", groups = [], is_disabled = false } = {}) {
  return [
    { name: "role", label: say("role"), value: role, choices: ROLES.map((one) => [one, say(`role_${one}`)]) },
    { name: "groups", label: say("groups"), value: groups.join(", "), hint: say("groups_hint") },
    { name: "is_disabled", label: say("disable"), kind: "checkbox", value: is_disabled },
  ];
}

function toBody({ role, groups, is_disabled, password }) {
  const named = groups.split(",").map((one) => one.trim()).filter(Boolean);
  return { role, groups: named, is_disabled, ...(password ? { password } : {}) };
}

async function add() {
  const name = { name: "name", label: say("name"), required: true, maxLength: 100, autocomplete: "off" };
  const check = (given) => put(`v1/people/${encodeURIComponent(given.name.trim())}`, toBody(given));
  const given = await askFor({ title: say("add_person"), fields: [name, passwordField(), ...fieldsOf().slice(0, 2), { ...fieldsOf()[2] }], check });
  if (given) await done(say("added", { name: given.name }));
}

async function edit(person) {
  const check = (given) => put(`v1/people/${encodeURIComponent(person.name)}`, toBody(given));
  const given = await askFor({ title: person.name, fields: fieldsOf(person), check });
  if (given) await done(say("saved"));
}

async function setPassword({ name, role, groups, is_disabled }) {
  const check = ({ password }) => put(`v1/people/${encodeURIComponent(name)}`, { role, groups, is_disabled, password });
  const given = await askFor({ title: say("password_of", { name }), fields: [passwordField()], check });
  if (given) await done(say("saved"));
}

async function drop({ name }) {
  if (!(await confirm(say("delete_person", { name }), say("delete_person_told"), say("delete")))) return;
  await remove(`v1/people/${encodeURIComponent(name)}`);
  await done(say("saved"));
}

// Shows all people again. The focus stays in the row of a person, at the same button.
async function done(told) {
  const label = document.activeElement?.ariaLabel;
  notify("");
  await showPeople();
  const buttons = [...find("people").querySelectorAll("button"), find("add")];
  (buttons.find((one) => one.ariaLabel === label) ?? find("add")).focus();
  announce(told);
}

async function showAudit() {
  const page = await get("v1/audit", { limit: PAGE, cursor });
  cursor = page.cursor ?? "";
  find("more").hidden = !cursor;
  find("audit").append(...page.searches.map(searchOf));
}

function searchOf({ time, who, why, kind, query, count }) {
  const row = element("tr");
  const kindTold = `kind_${kind.replaceAll(" ", "_")}` in words ? say(`kind_${kind.replaceAll(" ", "_")}`) : kind;
  const { automatic, ...conditions } = query ?? {};
  const asked = Object.entries(conditions).filter(([, value]) => `${value}` && value !== false).map(([name, value]) => (value === true ? conditionOf(name) : `${conditionOf(name)}: ${valueOf(name, value)}`));
  const kindCell = element("td", kindTold);
  if (automatic) kindCell.append(" ", Object.assign(element("span", say("automatic"), "tag"), { title: say("automatic_told") }));
  row.append(whenOf(time), element("td", who), element("td", why), kindCell, element("td", asked.join("; "), asked.length ? "faint long" : "faint"), element("td", count, "number"));
  return row;
}

// Conditions that this page has no word for are shown as they are.
const conditionOf = (name) => (`asked_${name}` in words ? say(`asked_${name}`) : name);

// Times of a query are Unix times.
function valueOf(name, value) {
  if (name === "text") return spell(value);
  if (name === "role") return say(`role_${value}`);
  if (name === "direction") return say(value);
  return name.endsWith("_s") ? dateTimeOf(1000 * value) : [value].flat().join(", ");
}

showHeader();
if (may("administrator")) {
  find("add").addEventListener("click", () => add().catch(tell));
  find("more").addEventListener("click", () => showAudit().catch(tell));
  showPeople().catch(tell);
  showAudit().catch(tell);
} else {
  for (const part of document.querySelectorAll("main > section")) part.hidden = true;
  notify(say("not_allowed"));
}
