// How the opening of a gate is told.

import { element, say, words } from "../page/words.js";

// Outcomes that this page has no word for are shown as they are.
const wordOf = (outcome) => (`outcome_${outcome}` in words ? say(`outcome_${outcome}`) : outcome);

export const toneOf = ({ outcome }) => (outcome === "opened" ? "good" : ["failed", "unknown"].includes(outcome) ? "warm" : "");

export function outcomeOf(opening) {
  return element("span", wordOf(opening.outcome), `pill outcome ${toneOf(opening)}`);
}

// The outcome in words, with its reason.
export function outcomeTold(opening, { isShort = false } = {}) {
  const told = wordOf(opening.outcome);
  return isShort || !opening.reason ? told : `${told}:${reasonOf(opening).textContent}`;
}

// The person who has opened a gate, with the person's reason.
export function personOf({ person, remark }) {
  if (!person) return [];
  const told = element("span", "", "person");
  told.append(" ", element("b", person), `: ${remark}`);
  return [told];
}

// The reason in the reader's language. A sentence that this page does not know is shown as it is.
export function reasonOf({ reason, reason_code: code, reason_values: values }) {
  const name = `because_${code}`;
  return element("span", ` ${name in words ? say(name, numbersOf(values)) : reason}`, "faint");
}

function numbersOf(values) {
  const format = new Intl.NumberFormat(words.language);
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, /^[\d.]+$/.test(value) && name !== "address" ? format.format(value) : value]));
}

export function showOutcome(opening) {
  const box = element("span");
  box.append(outcomeOf(opening), ` ${opening.gate}`);
  if (opening.reason) box.append(reasonOf(opening));
  box.append(...personOf(opening));
  return box;
}
