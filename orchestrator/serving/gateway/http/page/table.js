// The table of all plates, where there is more than one picture.

import { unreadLine } from "./cards.js";
import { drawPlate } from "./drawing.js";
import { element, percent, regionOf, say, textOf } from "./words.js";

const drawn = new WeakMap(); // rows of an entry, and the state in which they were drawn

export function drawTable(table, entries) {
  table.hidden = entries.length < 2;
  table.querySelector("tbody").replaceChildren(...(table.hidden ? [] : entries.flatMap(keptRows)));
}

function keptRows(entry) {
  const { state } = entry.card.dataset;
  if (drawn.get(entry)?.state !== state) drawn.set(entry, { state, rows: rowsOf(entry) });
  return drawn.get(entry).rows;
}

function rowsOf(entry) {
  const { answer, card, number, thumbnail } = entry;
  const { plates } = answer;
  const rows = answer.problem || !plates || !plates.length ? [toldRow(stateOf(entry), `#${card.id}`)] : platesRows(plates, number);
  const first = document.createElement("th");
  Object.assign(first, { scope: "rowgroup", rowSpan: rows.length });
  const link = element("a", "", "to-card");
  link.href = `#${card.id}`;
  link.append(thumbnail ?? element("span", "", "thumbnail empty"), element("span", answer.name, "name"));
  first.append(link);
  rows[0].prepend(first);
  rows[0].classList.add("first");
  return rows;
}

function stateOf({ answer, card }) {
  if (answer.problem) return card.querySelector(".problem .words").textContent || say("state_failed");
  return answer.plates ? say("none") : say(`state_${card.dataset.state}`);
}

function platesRows(plates, number) {
  const read = plates.flatMap((plate, index) => (plate.text ? [plateRow(plate, `#plate-${number}-${index + 1}`)] : []));
  const unread = plates.filter((plate) => !plate.text);
  return unread.length ? [...read, toldRow(unreadLine(plates, unread), `#picture-${number}`)] : read;
}

function plateRow(plate, href) {
  const row = document.createElement("tr");
  const link = element("a", "", "to-plate");
  link.href = href;
  link.append(drawPlate(plate.text, plate.format, textOf(plate)));
  const cells = [link, regionOf(plate) || "–", percent(plate.text_score)].map((content) => {
    const cell = document.createElement("td");
    cell.append(content);
    return cell;
  });
  row.append(...cells);
  return row;
}

function toldRow(text, href) {
  const row = document.createElement("tr");
  const cell = element("td", "", "told");
  const link = element("a", text);
  link.href = href;
  cell.colSpan = 3;
  cell.append(link);
  row.append(cell);
  return row;
}
