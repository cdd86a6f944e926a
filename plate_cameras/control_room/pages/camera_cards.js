// The card of a camera: its last still with its areas, its state and its figures.

import { address, send } from "./api.js";
import { drawAreas } from "./drafts.js";
import { stateOf } from "./states.js";
import { agoOf, secondsTold } from "./times.js";
import { element, numberOf, pair, percent, say, sayDetail } from "../page/words.js";

const BAD_SHARE = 0.2; // of frames that were not sent
const BAD_DELAY_S = 2;

export function cardOf(camera, edit) {
  const card = element("li", "", "panel camera");
  const still = element("div", "", "still");
  const head = element("div", "", "camera-head");
  head.append(element("h2", camera.name), element("span", camera.group, "tag group"), element("span", "", "gap"), element("span", "", "pill camera-state"));
  card.append(still, head, element("p", "", "camera-error"), element("dl", "", "facts figures"), element("p", "", "camera-lists faint"));
  const row = element("div", "", "row");
  const passes = element("a", say("show_passes"), "button small");
  passes.href = address("passes", { camera: camera.name });
  row.append(passes);
  if (edit) {
    const button = element("button", say("edit_areas"), "small");
    button.type = "button";
    button.addEventListener("click", () => edit(camera.name));
    row.prepend(button);
  }
  card.append(row);
  return updateCard(card, camera);
}

export function updateCard(card, camera) {
  Object.assign(card.dataset, { state: camera.state, search: `${camera.name} ${camera.group}`.toLowerCase() });
  const put = (where, text) => (card.querySelector(where).textContent = text);
  const state = card.querySelector(".camera-state");
  state.dataset.state = camera.state;
  state.textContent = stateOf(camera.state);
  const problem = sayDetail(camera.error) || camera.error || (camera.state === "unknown" ? say("unknown_told") : "");
  put(".camera-error", problem);
  card.querySelector(".camera-error").hidden = !problem;
  card.querySelector(".group").hidden = !camera.group;
  put(".camera-lists", listsTold(camera));
  card.querySelector(".figures").replaceChildren(...figuresOf(camera));
  showStill(card.querySelector(".still"), camera);
  return card;
}

function listsTold({ lists, areas_from: from, zones, lines, masks }) {
  const count = zones.length + lines.length + masks.length;
  const areas = count ? say(`areas_from_${from}`, { zones: zones.length, lines: lines.length, masks: masks.length }) : say("areas_none");
  return [lists.length ? say("looks_up", { lists: lists.join(", ") }) : "", areas].filter(Boolean).join(" · ");
}

function figuresOf(camera) {
  const number = (value) => numberOf(value ?? 0);
  const figures = [
    [say("passes_today"), number(camera.passes), false],
    [say("frames_sent"), number(camera.frames), false],
    [say("dropped"), percent(camera.dropped_share ?? 0), camera.dropped_share > BAD_SHARE],
    [say("delay"), camera.state !== "playing" && !camera.delay_s ? "–" : secondsTold(camera.delay_s), camera.delay_s > BAD_DELAY_S],
    [say("reconnects"), number(camera.reconnects), false],
  ];
  return figures.map(([name, value, isBad]) => {
    const made = pair(name, value);
    made.classList.toggle("bad", isBad);
    return made;
  });
}

// The picture is replaced when the new one is there, so that it does not blink. The browser would
// not ask again for an address that it has shown, so the picture is fetched.
async function showStill(box, camera) {
  if (!camera.still) return box.replaceChildren(element("p", say("no_still"), "empty"));
  if (box.dataset.time === camera.still_time) return drawOver(box, camera);
  box.dataset.time = camera.still_time;
  try {
    const picture = await fetchPicture(camera.still);
    picture.alt = say("still_of", { camera: camera.name });
    forget(box);
    box.replaceChildren(picture, element("span", "", "still-time"));
    drawOver(box, camera);
  } catch {
    if (!box.querySelector("img")) box.replaceChildren(element("p", say("no_still"), "empty"));
  }
  return undefined;
}

export async function fetchPicture(path) {
  const response = await send("GET", path.replace(/^\//, ""));
  const picture = new Image();
  picture.src = URL.createObjectURL(await response.blob());
  await picture.decode();
  return picture;
}

function forget(box) {
  const before = box.querySelector("img");
  if (before) URL.revokeObjectURL(before.src);
}

function drawOver(box, camera) {
  const time = box.querySelector(".still-time");
  if (time) time.textContent = agoOf(camera.still_time);
  box.querySelector("svg")?.remove();
  box.append(drawAreas(camera));
}
