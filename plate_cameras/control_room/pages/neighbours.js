// The earlier and later passes of the same plate.

import { cropOf, directionOf, linkOf } from "./passes.js";
import { timesOf } from "./times.js";
import { element, find, say } from "../page/words.js";

export function showNeighbours(pass) {
  const [later, earlier] = [true, false].map((isLater) => pass.neighbours.filter((one) => one.first_seen >= pass.first_seen === isLater));
  const shown = [...later, pass, ...earlier];
  if (pass.text) find("neighbours").append(...shown.map((one) => itemOf(one, one === pass)));
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
