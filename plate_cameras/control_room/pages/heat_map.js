// A calendar heat map: a row for each day, a column for each hour. Arrow keys move in it.

import { isSameDay, isWeekend, weekdayOf } from "./times.js";
import { element, numberOf, say } from "../page/words.js";

const HOUR_MS = 3_600_000;
const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -24], End: [0, 24] };

// Calls `narrow({from, until})` with the hour or day that was chosen.
export function drawHeatMap(box, { counts, from, until }, narrow) {
  const days = daysOf(from, until).reverse(); // the newest first
  const most = Math.max(1, ...counts.map(({ count }) => count));
  const table = element("table", "", "heat");
  table.append(headOf());
  const body = element("tbody");
  for (const day of days) body.append(dayRow(day, counts.filter(({ start }) => isSameDay(start, day)), most, narrow));
  table.append(body);
  table.addEventListener("keydown", move);
  box.replaceChildren(table, keyOf(most));
  const first = table.querySelector("td:not(.later) button") ?? table.querySelector("td button");
  if (first) first.tabIndex = 0;
}

function daysOf(from, until) {
  const days = [];
  for (let day = from; day < until; day = new Date(day.getFullYear(), day.getMonth(), day.getDate() + 1)) days.push(day);
  return days;
}

function headOf() {
  const head = element("thead");
  const row = element("tr");
  row.append(element("td"));
  for (let hour = 0; hour < 24; hour += 1) {
    const cell = element("th", hour % 3 === 0 ? String(hour) : "");
    cell.scope = "col";
    if (hour % 3) cell.append(element("span", String(hour), "unseen"));
    row.append(cell);
  }
  head.append(row);
  return head;
}

function dayRow(day, counts, most, narrow) {
  const row = element("tr", "", isWeekend(day) ? "weekend" : "");
  const name = element("th");
  name.scope = "row";
  const whole = element("button", weekdayOf(day));
  whole.type = "button";
  whole.addEventListener("click", () => narrow({ from: day, until: new Date(day.getFullYear(), day.getMonth(), day.getDate() + 1) }));
  name.append(whole);
  row.append(name);
  for (let hour = 0; hour < 24; hour += 1) row.append(cellOf(day, hour, counts, most, narrow));
  return row;
}

function cellOf(day, hour, counts, most, narrow) {
  const count = counts.filter(({ start }) => start.getHours() === hour).reduce((sum, one) => sum + one.count, 0);
  const from = new Date(day.getFullYear(), day.getMonth(), day.getDate(), hour);
  const until = new Date(from.getTime() + HOUR_MS);
  const cell = element("td", "", from > Date.now() ? "later" : "");
  const button = element("button");
  Object.assign(button, { type: "button", tabIndex: -1, title: say("hour_told", { day: weekdayOf(day), hour, next: hour + 1, count: numberOf(count) }) });
  button.ariaLabel = button.title;
  button.style.setProperty("--share", count ? 0.12 + 0.88 * Math.sqrt(count / most) : 0);
  button.classList.toggle("some", count > 0);
  button.addEventListener("click", () => narrow({ from, until }));
  cell.append(button);
  return cell;
}

function keyOf(most) {
  const key = element("p", "", "heat-key faint");
  const scale = element("span", "", "heat-scale");
  key.append("0", scale, numberOf(most));
  return key;
}

function move(event) {
  const step = MOVES[event.key];
  const cell = event.target.closest("td");
  if (!step || !cell) return;
  event.preventDefault();
  const rows = [...event.currentTarget.tBodies[0].rows];
  const row = Math.min(rows.length - 1, Math.max(0, rows.indexOf(cell.parentElement) + step[0]));
  const column = Math.min(24, Math.max(1, cell.cellIndex + step[1]));
  const target = rows[row].cells[column].querySelector("button");
  cell.querySelector("button").tabIndex = -1;
  target.tabIndex = 0;
  target.focus();
}
