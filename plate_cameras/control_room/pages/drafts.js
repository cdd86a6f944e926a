// Areas of a camera: zones, masks (polygons) and lines. As the API has them, as drafts, and as SVG.

import { element, say } from "../page/words.js";

const SVG = "http://www.w3.org/2000/svg";
const DIGITS = 4;

export const LEAST = { zone: 3, mask: 3, line: 2 }; // points
export const MOST = { zone: 40, mask: 40, line: 2 };

// Returns drafts `{kind, name, points}` of a camera's areas.
export function toDrafts({ zones, lines, masks }) {
  return [
    ...zones.map(({ name, polygon }) => ({ kind: "zone", name, points: copyOf(polygon) })),
    ...lines.map(({ name, points }) => ({ kind: "line", name, points: copyOf(points) })),
    ...masks.map(({ name, polygon }) => ({ kind: "mask", name, points: copyOf(polygon) })),
  ];
}

const copyOf = (points) => points.map(([x, y]) => [x, y]);

export function fromDrafts(drafts) {
  const of = (kind, key) => drafts.filter((one) => one.kind === kind).map(({ name, points }) => ({ name: name.trim(), [key]: points.map(rounded) }));
  return { zones: of("zone", "polygon"), lines: of("line", "points"), masks: of("mask", "polygon") };
}

const rounded = (point) => point.map((value) => Number(Math.min(1, Math.max(0, value)).toFixed(DIGITS)));

// Returns what is wrong with drafts; "" if nothing is.
export function problemOf(drafts) {
  for (const { kind, name, points } of drafts) {
    if (!name.trim()) return say("name_wanted");
    if (points.length < LEAST[kind]) return say("points_wanted", { name, count: LEAST[kind] });
    if (drafts.filter((one) => one.kind === kind && one.name.trim() === name.trim()).length > 1) return say("name_twice", { name });
  }
  return "";
}

// A name that no other draft of the kind has.
export function newName(drafts, kind) {
  const taken = new Set(drafts.filter((one) => one.kind === kind).map(({ name }) => name));
  for (let number = 1; ; number += 1) if (!taken.has(`${say(kind).toLowerCase()} ${number}`)) return `${say(kind).toLowerCase()} ${number}`;
}

// Returns a drawing of a camera's areas, to lie over its still.
export function drawAreas(camera) {
  const made = svg("svg", { class: "areas", viewBox: "0 0 1 1", preserveAspectRatio: "none", "aria-hidden": "true" });
  made.append(...toDrafts(camera).map((draft) => shapeOf(draft)));
  return made;
}

export function shapeOf({ kind, points }, isChosen = false) {
  const tag = kind === "line" || points.length < 3 ? "polyline" : "polygon";
  return svg(tag, { class: `area ${kind}${isChosen ? " chosen" : ""}`, points: points.map((point) => point.join()).join(" ") });
}

export function svg(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

// The labels of a line's sides, as passes tell them: seen from its start to its end.
export function sideLabels({ points: [[x0, y0], [x1, y1]] }, { width, height }) {
  const [across, down] = [(x1 - x0) * width, (y1 - y0) * height];
  const length = Math.hypot(across, down) || 1;
  const [stepX, stepY] = [((-down / length) * 26) / width, ((across / length) * 26) / height];
  const [x, y] = [(x0 + x1) / 2, (y0 + y1) / 2];
  return [["right", 1], ["left", -1]].map(([side, sign]) => {
    const label = element("span", say(`side_${side}`), "side-label");
    label.style.left = `${100 * (x + sign * stepX)}%`;
    label.style.top = `${100 * (y + sign * stepY)}%`;
    return label;
  });
}
