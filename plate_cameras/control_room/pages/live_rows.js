// The rows of the live page: newest first, updated in place, and held back while the reader looks.

import { actionsButton, actionsFor } from "./guard.js";
import { outcomeOf, takeOpening } from "./outcomes.js";
import { cropOf, fillRow, hitsOf, linkOf, nameOf, plateOf, regionOf, directionOf, rowOf, scoreOf } from "./passes.js";
import { orderOf, timesOf } from "./times.js";
import { element, find, formatOf, say } from "../page/words.js";
import { lookOf } from "./tones.js";

const MOST = 100;

const passes = new Map(); // by id
const held = new Map(); // the newest ones while the list is paused

let paused = false;
let onlyHits = false;
let newest; // the pass that is shown large

const isShown = (pass) => !onlyHits || pass.lists?.length > 0;

export function clearRows() {
  for (const kept of [passes, held]) kept.clear();
  newest = undefined;
  find("rows").replaceChildren();
  showLatest();
}

export function showOnlyHits(on) {
  onlyHits = on;
  redraw();
}

export function pauseRows(on) {
  paused = on;
  if (!on) {
    for (const pass of held.values()) insert(pass);
    held.clear();
  }
  return held.size;
}

// Returns how many passes are held back.
export function take(pass) {
  if (passes.has(pass.id)) update(pass);
  else if (paused) {
    held.set(pass.id, pass);
    if (held.size > MOST) held.delete(held.keys().next().value);
  } else insert(pass, true);
  return [...held.values()].filter(isShown).length;
}

export function knows(id) {
  return passes.has(id) || held.has(id);
}

function update(pass) {
  const before = passes.get(pass.id);
  passes.set(pass.id, pass);
  const row = rowNamed(pass.id);
  if (row) {
    const hasFocus = row.contains(document.activeElement);
    const onButton = hasFocus && document.activeElement.matches("button");
    fillRow(row, pass, moreOf(pass));
    if (hasFocus) row.querySelector(onButton ? "button" : "a").focus();
  } else if (isShown(pass) && !isShown(before)) redraw();
  if (newest === pass.id) showLatest();
}

// What gates did for a pass, and what the reader can do.
function moreOf(pass) {
  return [...outcomeOf(pass), ...actionsButton(pass, opened)];
}

function opened(opening) {
  if (takeOpening(opening)) showOutcomes(new Set([opening.pass_id]));
}

// Shows other outcomes of gates, without other changes.
export function showOutcomes(ids) {
  for (const id of ids) if (passes.has(id)) update(passes.get(id));
}

function filledRow(pass) {
  const row = rowOf(pass);
  fillRow(row, pass, moreOf(pass));
  return row;
}

function insert(pass, isNew = false) {
  passes.set(pass.id, pass);
  if (passes.size > 2 * MOST) forgetOldest();
  if (!isShown(pass)) return;
  place(pass, isNew);
  if (!newest || orderOf(pass) >= orderOf(passes.get(newest))) newest = pass.id;
  showLatest();
}

// Passes come almost in order; one from a slow camera goes to its place.
function place(pass, isNew) {
  const list = find("rows");
  const row = filledRow(pass);
  if (isNew) row.classList.add("new");
  const after = [...list.children].find((one) => passes.has(one.dataset.id) && orderOf(passes.get(one.dataset.id)) <= orderOf(pass));
  list.insertBefore(row, after ?? null);
  while (list.children.length > MOST) list.lastElementChild.remove();
  find("quiet").hidden = list.children.length > 0;
}

const newestFirst = () => [...passes.values()].sort((one, other) => (orderOf(one) < orderOf(other) ? 1 : -1));

function forgetOldest() {
  for (const { id } of newestFirst().slice(MOST)) {
    passes.delete(id);
    rowNamed(id)?.remove();
  }
}

function redraw() {
  const shown = newestFirst().filter(isShown);
  find("rows").replaceChildren(...shown.slice(0, MOST).map(filledRow));
  find("quiet").hidden = shown.length > 0;
  newest = shown[0]?.id;
  showLatest();
}

function rowNamed(id) {
  return [...find("rows").children].find((row) => row.dataset.id === id);
}

// The newest pass, to be read across the room.
export function showLatest() {
  const box = find("latest");
  const pass = passes.get(newest);
  box.hidden = !pass;
  if (!pass) return;
  const tone = pass.lists?.length ? `hit tone-${lookOf(pass.lists[0].list).tone}` : "";
  box.className = `latest panel ${tone}`;
  const link = element("a", "", "latest-plate");
  link.href = linkOf(pass);
  link.append(plateOf(pass));
  const facts = element("p", "", "latest-facts");
  const told = [element("b", pass.camera), directionOf(pass), pass.text ? scoreOf(pass.text_score) : element("span"), element("span", regionOf(pass)), element("span", pass.format && formatOf(pass))];
  facts.append(...told.filter((one) => one.textContent));
  const when = element("p", "", "latest-time");
  const { clockOf, agoOf } = timesOf(pass);
  when.append(element("b", clockOf(pass.first_seen)), " ", element("span", agoOf(pass.first_seen), "faint"));
  const hits = element("p", "", "hits large");
  hits.append(...hitsOf(pass), ...outcomeOf(pass));
  const actions = element("div", "", "row acts");
  actions.append(...actionsFor(pass, opened));
  const picture = cropOf(pass);
  if (picture.tagName === "IMG") picture.alt = say("crop_of", { text: nameOf(pass) });
  if (box.contains(document.activeElement) && document.activeElement.matches("button")) return; // it is about to be pressed
  box.replaceChildren(...(hits.children.length ? [hits] : []), link, picture, when, facts, ...(actions.children.length ? [actions] : []));
}
