// Counts of passes beside a search: by hour as a heat map, and by camera as bars.

import { getAll } from "./api.js";
import { drawHeatMap } from "./heat_map.js";
import { element, find, numberOf } from "../page/words.js";

const DAY_MS = 86_400_000;
const DAYS = 14;
const MAX_DAYS = 62;

// Zones off by half an hour get hours that begin there; all others those of UTC.
const REST_MINUTES = (((-new Date().getTimezoneOffset() % 60) + 60) % 60);

export async function showCounts(query, narrow) {
  const { from, until } = rangeOf(query);
  const asked = { camera: query.camera, from: from.toISOString(), until: until.toISOString() };
  const [hours, cameras] = await Promise.all([
    getAll("v1/passes/counts", "counts", { by: "hour", ...asked, offset_minutes: REST_MINUTES || undefined }),
    getAll("v1/passes/counts", "counts", { by: "camera", ...asked }),
  ]);
  drawHeatMap(find("heat-map"), { counts: hours.map(toLocal), from, until }, narrow);
  showCameras(cameras, narrow);
}

// Whole days of the reader's zone: those of the search, or the last two weeks.
function rangeOf(query) {
  const until = query.until ? endOfDay(new Date(Date.parse(query.until) - 1)) : endOfDay(new Date());
  const earliest = new Date(until - MAX_DAYS * DAY_MS);
  const from = query.from ? startOfDay(new Date(query.from)) : startOfDay(new Date(until - DAYS * DAY_MS));
  return { from: from < earliest ? startOfDay(earliest) : from, until };
}

export function startOfDay(time) {
  return new Date(time.getFullYear(), time.getMonth(), time.getDate());
}

function endOfDay(time) {
  return new Date(time.getFullYear(), time.getMonth(), time.getDate() + 1);
}

function toLocal({ day, hour, count }) {
  const start = Date.parse(`${day}T${String(hour).padStart(2, "0")}:00:00Z`) - REST_MINUTES * 60_000;
  return { start: new Date(start), count };
}

function showCameras(counts, narrow) {
  const most = Math.max(1, ...counts.map(({ count }) => count));
  const sorted = [...counts].sort((one, other) => other.count - one.count);
  find("by-camera").replaceChildren(...sorted.map(({ camera, count }) => barOf(camera, count, count / most, () => narrow({ camera }))));
}

function barOf(name, count, share, click) {
  const item = element("li");
  const button = element("button", "", "bar-row");
  button.type = "button";
  const bar = element("span", "", "bar");
  bar.style.setProperty("--share", share);
  button.append(element("span", name, "bar-name"), bar, element("b", numberOf(count), "number"));
  button.addEventListener("click", click);
  item.append(button);
  return item;
}
