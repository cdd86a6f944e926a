// The outcomes of gates beside the passes that they were for.

import { get } from "./api.js";
import { gates } from "./guard.js";
import { outcomeTold, toneOf } from "./openings.js";
import { element } from "../page/words.js";

const EVERY_MS = 2000;
const LIMIT = 100;

const newest = new Map(); // openings by the passes' ids

export function outcomeOf(pass) {
  const opening = newest.get(pass.id);
  if (!opening) return [];
  const pill = element("span", `${opening.gate}: ${outcomeTold(opening, { isShort: true })}`, `pill outcome ${toneOf(opening)}`);
  pill.title = outcomeTold(opening);
  return [pill];
}

// Takes an opening; returns whether something has changed.
export function takeOpening(opening) {
  const before = newest.get(opening.pass_id);
  if (!opening.pass_id || (before && (before.time > opening.time || (before.id === opening.id && before.outcome === opening.outcome)))) return false;
  newest.set(opening.pass_id, opening);
  return true;
}

// Asks for openings now and then. `changed` takes the ids of the passes whose outcome has changed.
export function followOutcomes(changed) {
  if (!gates.length) return;
  const ask = async () => {
    if (document.visibilityState !== "visible") return;
    const { openings } = await get("v1/gates/openings", { limit: LIMIT }, { quiet: true });
    const ids = openings.reverse().filter(takeOpening).map(({ pass_id: id }) => id);
    while (newest.size > 2 * LIMIT) newest.delete(newest.keys().next().value);
    if (ids.length) changed(new Set(ids));
  };
  const again = () => ask().catch(() => {}).finally(() => setTimeout(again, EVERY_MS)); // the stream tells faults
  again();
}
