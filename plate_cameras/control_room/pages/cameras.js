// The cameras page: a card for each camera, kept up to date, and the editor of its areas.

import { get, getAll } from "./api.js";
import { cardOf, updateCard } from "./camera_cards.js";
import { openEditor } from "./areas.js";
import { showHeader, tell } from "./header.js";
import { may } from "./session.js";
import { follow } from "./stream.js";
import { isWell, stateOf } from "./states.js";
import { find, numberOf, say } from "../page/words.js";

const FRESH_MS = 10_000;

const cards = new Map(); // by camera

async function refresh() {
  const cameras = await getAll("v1/cameras", "cameras");
  for (const [name, card] of cards) if (!cameras.some((one) => one.name === name)) card.remove();
  cameras.forEach(show);
  find("no-cameras").hidden = cameras.length > 0;
  find("still-blurred").hidden = !cameras.some(({ still, still_blur: blur }) => still && blur !== "none");
  filter();
}

function show(camera) {
  const known = cards.get(camera.name);
  if (known) return updateCard(known, camera);
  const card = cardOf(camera, may("administrator") ? (current) => edit(current) : undefined);
  cards.set(camera.name, card);
  find("cards").append(card);
  return card;
}

async function edit(name) {
  try {
    const saved = await openEditor(await get(`v1/cameras/${encodeURIComponent(name)}`));
    if (saved) show(saved);
  } catch (problem) {
    tell(problem);
  }
  cards.get(name)?.querySelector("button")?.focus();
}

function filter() {
  const wanted = find("filter").value.trim().toLowerCase();
  for (const card of cards.values()) card.hidden = !card.dataset.search.includes(wanted);
  const states = [...cards.values()].map((card) => card.dataset.state);
  const away = states.filter((state) => !isWell(state)).length;
  find("totals").classList.toggle("warm", away > 0);
  const counts = [...new Set(states)].map((state) => `${stateOf(state)}: ${numberOf(states.filter((one) => one === state).length)}`);
  find("totals").textContent = [say("cameras_count", { count: numberOf(cards.size) }), ...counts].join(" · ");
}

function receive(camera) {
  show(camera);
  filter();
}

showHeader();
if (window.innerWidth < 900) document.querySelector(".editor .help").open = false;
find("filter").addEventListener("input", filter);
refresh().catch(tell);
follow({}, { pass: () => {}, camera: receive, state: () => {} });
setInterval(() => {
  if (document.visibilityState === "visible") refresh().catch(() => {}); // the cards tell how old they are
}, FRESH_MS);
