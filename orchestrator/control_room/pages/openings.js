// How the opening of a gate is told.

import { element, say, words } from "../page/words.js";

// Outcomes that this page has no word for are shown as they are.
export function outcomeOf({ outcome }) {
  const told = `outcome_${outcome}` in words ? say(`outcome_${outcome}`) : outcome;
  return element("span", told, `pill outcome ${outcome === "opened" ? "good" : outcome === "failed" ? "warm" : ""}`);
}

export function showOutcome(opening) {
  const box = element("span");
  box.append(outcomeOf(opening), ` ${opening.gate}`);
  if (opening.reason) box.append(element("span", ` ${opening.reason}`, "faint"));
  return box;
}
