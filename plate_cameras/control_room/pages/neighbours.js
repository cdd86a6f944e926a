// The earlier and later passes of the same plate.

import { get } from "./api.js";
import { cropOf, directionOf, linkOf } from "./passes.js";
import { timesOf } from "./times.js";
import { element, find, say } from "../page/words.js";

const EARLIER = 9;
const LATER = 100; // the API gives the newest first, so the next one is the last of these
const SHOWN_LATER = 5;

export async function showNeighbours(pass) {
  if (!pass.text) return find("neighbours").append(element("li", say("no_neighbours"), "empty"));
  const text = `"${pass.text}"`; // in quotes it is the whole text, also a short one
  const [before, after] = await Promise.all([
    get("v1/passes", { text, until: pass.first_seen, limit: EARLIER }),
    get("v1/passes", { text, from: pass.first_seen, limit: LATER }),
  ]);
  const later = after.passes.filter(({ id }) => id !== pass.id);
  const earlier = before.passes.filter(({ id }) => id !== pass.id);
  const shown = [...later.slice(-SHOWN_LATER), pass, ...earlier];
  find("neighbours").append(...shown.map((one) => itemOf(one, one === pass)));
  if (shown.length === 1) find("neighbours").append(element("li", say("no_neighbours"), "empty"));
  const links = [linkTo(earlier[0], "previous_pass", "←", ""), linkTo(later.at(-1), "next_pass", "", "→")];
  find("neighbour-links").append(...links.filter(Boolean));
}

function linkTo(pass, name, before, after) {
  if (!pass) return undefined;
  const link = element("a", `${before} ${say(name)} ${after}`.trim(), "button small");
  link.href = linkOf(pass);
  return link;
}

function itemOf(pass, isThis) {
  const item = element("li", "", isThis ? "this" : "");
  const link = element("a");
  link.href = linkOf(pass);
  if (isThis) link.ariaCurrent = "true";
  link.append(element("b", timesOf(pass).dateTimeOf(pass.first_seen)), element("span", pass.camera), directionOf(pass));
  item.append(cropOf(pass), link);
  return item;
}
