// The query of a search: in the form, in the page's address, and as the API takes it.

import { fromField, toDayBound, toField } from "./times.js";
import { find } from "../page/words.js";

const TEXTS = ["text", "edits", "camera", "list", "zone", "direction", "region", "part"];
const TIMES = ["from", "until"];
const MORE = ["camera", "list", "zone", "direction", "region", "part"];

export function fromForm() {
  const query = {};
  for (const name of TEXTS) query[name] = find(name).value.trim();
  for (const name of TIMES) query[name] = fromField(find(name).value);
  if (!query.text) query.edits = "";
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value));
}

export function fromAddress() {
  const given = new URLSearchParams(location.search);
  const pairs = [...TEXTS.map((name) => [name, given.get(name)]), ...TIMES.map((name) => [name, toDayBound(given.get(name), name === "until")])];
  return Object.fromEntries(pairs.filter(([, value]) => value));
}

export function toForm(query) {
  for (const name of TEXTS) setField(find(name), query[name] ?? "");
  for (const name of TIMES) find(name).value = isTime(query[name]) ? toField(query[name]) : "";
}

// A name of the address that the list does not have (yet) is kept.
function setField(field, value) {
  const isUnknown = field.tagName === "SELECT" && value && ![...field.options].some((one) => one.value === value);
  if (isUnknown) field.append(new Option(value, value));
  field.value = value;
}

function isTime(value) {
  return value && !Number.isNaN(Date.parse(value));
}

export function toAddress(query) {
  const search = new URLSearchParams(query).toString();
  return search ? `?${search}` : location.pathname;
}

export function hasMore(query) {
  return MORE.some((name) => query[name]);
}

toForm(fromAddress()); // at once: after the session it would undo what the reader has typed by then
