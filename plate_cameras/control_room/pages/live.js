// The live page: passes as they come.

import { address, get, getAll } from "./api.js";
import * as chime from "./chime.js";
import { showHeader, tell } from "./header.js";
import { clearRows, knows, pauseRows, showLatest, showOnlyHits, showOutcomes, take } from "./live_rows.js";
import { followOutcomes } from "./outcomes.js";
import { nameOf } from "./passes.js";
import { follow } from "./stream.js";
import { isWell } from "./states.js";
import { lookOf } from "./tones.js";
import { announce, element, find, say } from "../page/words.js";

const FIRST = 50; // passes from the store at the start
const TICK_MS = 5000;
const STATES_MS = 10_000;
const STAYS_MS = 60_000;
const STAYS = 100; // more are not counted

const sounded = new Set(); // passes whose hits were heard
let end = () => {};
let isHeld = false; // by the button
let isWatched = false; // by the pointer or the keyboard

function connect() {
  end();
  clearRows();
  const query = { camera: find("camera").value };
  end = follow(query, { pass: receive, state: showState, reset: () => showStored(query) });
  showStored(query);
}

function showStored(query) {
  get("v1/passes", { ...query, limit: FIRST }, { quiet: true, auto: true })
    .then(({ passes }) => passes.reverse().filter(({ id }) => !knows(id)).forEach(take))
    .catch((problem) => (isUnreasoned(problem) ? announce(say("no_reason_yet")) : tell(problem)))
    .finally(() => (find("quiet").hidden = find("rows").children.length > 0));
}

// The reader has not given a reason, and the service wants one.
const isUnreasoned = ({ detail = "" }) => detail.startsWith("reason:");

function receive(pass) {
  showHeldBack(take(pass));
  if (!pass.lists?.length || sounded.has(pass.id)) return;
  sounded.add(pass.id);
  const sounds = pass.lists.map(({ list }) => lookOf(list).sound);
  chime.play(sounds.includes("alarm") ? "alarm" : sounds.includes("soft") ? "soft" : "none");
  announce(say("hit_told", { text: nameOf(pass), list: pass.lists.map(({ list }) => list).join(", "), camera: pass.camera }));
}

function showState(state) {
  find("connection").dataset.state = state;
  find("connection").textContent = say(`stream_${state}`);
}

// The stream is open also when nobody follows the cameras; without this line, that looks alike.
function showAway(cameras) {
  const away = cameras.filter(({ state }) => !isWell(state)).map(({ name }) => name);
  find("away").hidden = !away.length;
  const told = say("cameras_bad", { cameras: away.join(", ") });
  const place = find("away").querySelector("span");
  if (place.textContent !== told) place.textContent = told;
}

async function showCameras() {
  const cameras = await getAll("v1/cameras", "cameras");
  const known = new Set([...find("camera").options].map(({ value }) => value));
  find("camera").append(...cameras.filter(({ name }) => !known.has(name)).map(({ name }) => new Option(name, name)));
  showAway(cameras);
}

// Vehicles that stay too long at one of the sites.
async function showStays() {
  const sites = (await getAll("v1/sites", "sites")).filter((site) => site.max_stay_hours);
  const pages = await Promise.all(sites.map(({ name }) => get(`v1/sites/${encodeURIComponent(name)}/vehicles`, { overstays: "true", limit: STAYS }, { quiet: true, auto: true })));
  const told = sites.flatMap(({ name }, index) => {
    const { vehicles, cursor } = pages[index];
    const link = element("a", say("overstay_told", { site: name, count: `${vehicles.length}${cursor ? "+" : ""}` }));
    link.href = address("inside", { site: name, overstays: "1" });
    return vehicles.length ? [link, " "] : [];
  });
  find("stays").hidden = !told.length;
  find("stays").replaceChildren(...told);
}

function showHeldBack(count = 0) {
  const isPaused = isHeld || isWatched;
  find("pause").classList.toggle("on", isPaused);
  find("pause").ariaPressed = String(isHeld);
  find("pause").querySelector("span").textContent = count ? say("held_back", { count }) : say(isHeld ? "resume" : "pause");
}

function updatePause() {
  showHeldBack(pauseRows(isHeld || isWatched));
}

function watch(list) {
  const set = (on) => () => {
    isWatched = on;
    updatePause();
  };
  list.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && set(true)());
  list.addEventListener("pointerleave", set(false));
  list.addEventListener("focusin", ({ target }) => target.matches(":focus-visible") && set(true)());
  list.addEventListener("focusout", set(false));
}

function showSound() {
  const on = chime.isOn();
  find("sound").ariaPressed = String(on);
  find("sound").querySelector("span").textContent = say(on ? "sound_on" : "sound_off");
  find("sound").querySelector("use").setAttribute("href", on ? "#icon-sound" : "#icon-silent");
  find("unlock").hidden = !on || !chime.isLocked();
}

function unlock() {
  if (!chime.isOn()) return;
  chime.unlock();
  find("unlock").hidden = true;
}

showHeader();
showSound();
watch(find("rows"));
find("camera").addEventListener("change", connect);
find("only-hits").addEventListener("change", ({ target }) => showOnlyHits(target.checked));
find("pause").addEventListener("click", () => {
  isHeld = !isHeld;
  updatePause();
});
find("sound").addEventListener("click", () => {
  chime.turn(!chime.isOn());
  showSound();
  chime.play("soft");
});
for (const event of ["pointerdown", "keydown"]) document.addEventListener(event, unlock);
document.addEventListener("reason", () => {
  connect();
  showStays().catch(tell);
});
setInterval(showLatest, TICK_MS); // how long ago
followOutcomes(showOutcomes);
showStays().catch((problem) => isUnreasoned(problem) || tell(problem));
setInterval(() => {
  if (document.visibilityState === "visible") showStays().catch(() => {});
}, STAYS_MS);
showCameras().catch(tell);
setInterval(() => {
  if (document.visibilityState === "visible") showCameras().catch(() => {}); // the stream tells it
}, STATES_MS);
connect();
