// All readings of a pass: a chart of their scores over time, and a table.

import { svg } from "./drafts.js";
import { weigh } from "./evidence.js";
import { secondsTold, timesOf } from "./times.js";
import { element, numberOf, percent, say, spell } from "../page/words.js";

const HEIGHT = 180;
const WIDTHS = [240, 640]; // as wide as its place, so that its letters are never small
const ROOM = { left: 66, right: 14, top: 12, bottom: 26 };
const RADII = [3.5, 11];

export function showReadings(chart, table, pass) {
  if (!pass.readings.length) return;
  const tones = new Map(weigh(pass).map(({ text, tone }) => [text, tone]));
  const most = Math.max(...pass.readings.map(({ weight }) => weight), 1e-9);
  const width = Math.min(Math.max(chart.clientWidth || WIDTHS[1], WIDTHS[0]), WIDTHS[1]);
  chart.append(draw(pass, tones, most, width));
  const { clockOf } = timesOf(pass);
  table.append(...pass.readings.map((reading) => rowOf(reading, { when: clockOf(reading.time), tone: tones.get(reading.text), most })));
}

function draw({ readings }, tones, most, width) {
  const times = readings.map(({ time }) => Date.parse(time));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const x = (time) => ROOM.left + ((width - ROOM.left - ROOM.right) * (Date.parse(time) - first)) / Math.max(last - first, 1);
  const y = (score) => HEIGHT - ROOM.bottom - (HEIGHT - ROOM.top - ROOM.bottom) * score;
  const told = say("chart_told", { count: readings.length, least: percent(Math.min(...readings.map(({ score }) => score))), most: percent(Math.max(...readings.map(({ score }) => score))) });
  const chart = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": told });
  for (const score of [0, 0.5, 1]) {
    chart.append(svg("path", { class: "grid-line", d: `M${ROOM.left} ${y(score)}H${width - ROOM.right}` }), label(percent(score), ROOM.left - RADII[1] - 4, y(score) + 4, "end"));
  }
  chart.append(svg("path", { class: "score-line", d: `M${readings.map(({ time, score }) => `${x(time).toFixed(1)} ${y(score).toFixed(1)}`).join("L")}` }));
  for (const { time, score, text, weight, is_best } of readings) {
    const r = RADII[0] + (RADII[1] - RADII[0]) * Math.sqrt(weight / most);
    const dot = svg("circle", { class: `${tones.get(text)}${is_best ? " best" : ""}`, cx: x(time), cy: y(score), r });
    const title = svg("title", {});
    title.textContent = `${text || say("unread")}, ${percent(score)}`;
    dot.append(title);
    chart.append(dot);
  }
  chart.append(label("0", ROOM.left, HEIGHT - 6, "start"), label(secondsTold((last - first) / 1000), width - ROOM.right, HEIGHT - 6, "end"));
  return chart;
}

function label(text, x, y, anchor) {
  const made = svg("text", { x, y, "text-anchor": anchor });
  made.textContent = text;
  return made;
}

function rowOf({ text, score, weight, sharpness, xyxy, source, is_best }, { when, tone, most }) {
  const row = element("tr", "", is_best ? "best" : "");
  const read = element("td");
  read.append(element("span", "", `dot ${tone}`), element("code", text ? spell(text) : say("unread")));
  if (source === "camera") read.append(" ", element("span", say("camera_reading"), "tag"));
  if (is_best) read.append(" ", element("span", say("best_frame"), "tag"));
  const share = element("td", "", "number");
  const bar = element("span", "", "mini-bar");
  bar.style.setProperty("--share", weight / most);
  share.append(bar, numberOf(weight));
  const [x0, y0, x1, y1] = xyxy.map(Math.round);
  row.append(element("td", when), read, element("td", percent(score), "number"), share, element("td", percent(sharpness), "number"), element("td", `${x1 - x0} × ${y1 - y0}`, "number"));
  return row;
}
