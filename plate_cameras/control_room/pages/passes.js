// How a pass is shown: its plate, picture, list hits, direction and score.

import { address } from "./api.js";
import { timesOf } from "./times.js";
import { lookOf } from "./tones.js";
import { drawPlate } from "../page/drawing.js";
import { element, percent, regionOf as regionOfPlate, say, spell, textOf } from "../page/words.js";

const SURE = 0.9; // scores from here on are shown as sure

export const linkOf = (pass) => address(`passes/${encodeURIComponent(pass.id)}`).href;

export function nameOf(pass) {
  return pass.text ? textOf(pass) : say("unread");
}

export function plateOf(pass) {
  if (pass.text) return drawPlate(pass.text, pass.format, textOf(pass));
  return element("span", say("unread"), "unread");
}

export function regionOf(pass) {
  return regionOfPlate({ region: pass.region && { name: pass.region } });
}

// A picture that is not there leaves its room empty.
export function cropOf(pass) {
  if (!pass.crop) return element("span", "", "crop none");
  const picture = element("img", "", "crop");
  Object.assign(picture, { src: address(pass.crop.replace(/^\//, "")), alt: "", loading: "lazy", decoding: "async" });
  picture.addEventListener("error", () => picture.replaceWith(element("span", "", "crop none")));
  return picture;
}

export function icon(name) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `#icon-${name}`);
  made.setAttribute("class", "icon");
  made.setAttribute("aria-hidden", "true");
  made.append(use);
  return made;
}

export function directionOf(pass) {
  const told = element("span", "", "direction");
  if (pass.direction) told.append(icon(pass.direction), element("span", say(pass.direction)));
  return told;
}

export function scoreOf(score) {
  return element("span", percent(score), score >= SURE ? "score sure" : "score");
}

export function hitOf({ list, text, note, edits }, shownText) {
  const chip = element("span", "", `chip tone-${lookOf(list).tone}`);
  chip.append(element("b", list));
  if (note) chip.append(` ${note}`);
  if (edits && text !== shownText) chip.append(element("small", ` ${say("listed_as", { text: spell(text) })}`));
  return chip;
}

export function hitsOf(pass) {
  return (pass.lists ?? []).map((hit) => hitOf(hit, pass.text));
}

// A row of a list of passes. The link covers it.
export function rowOf(pass, { tag = "li" } = {}) {
  const row = element(tag, "", "pass-row");
  row.dataset.id = pass.id;
  fillRow(row, pass);
  return row;
}

// `more` comes after the lists of the pass.
export function fillRow(row, pass, more = []) {
  const tone = pass.lists?.length ? lookOf(pass.lists[0].list).tone : "";
  row.className = `pass-row ${tone ? `hit tone-${tone}` : ""} ${pass.progress}`;
  const time = element("time", "", "when");
  const { clockOf, dayOf } = timesOf(pass);
  if (pass.clock !== "file") time.dateTime = pass.first_seen;
  time.append(element("b", clockOf(pass.first_seen)), element("span", dayOf(pass.first_seen)));
  const link = element("a", "", "cover plate-link");
  link.href = linkOf(pass);
  link.append(plateOf(pass));
  const where = element("span", "", "where");
  where.append(element("b", pass.camera), directionOf(pass));
  const from = element("span", "", "region");
  from.append(element("b", pass.region_code), element("span", regionOf(pass)));
  const hits = element("span", "", "hits");
  hits.append(...hitsOf(pass), ...(pass.progress === "closed" ? [] : [element("span", say(pass.progress), "progress")]), ...more);
  row.replaceChildren(time, cropOf(pass), link, pass.text ? scoreOf(pass.text_score) : element("span"), where, from, hits);
}
