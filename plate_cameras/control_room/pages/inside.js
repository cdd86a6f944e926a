// Who is inside of a site, and for how long.

import { get, getAll, remove, send } from "./api.js";
import { showHeader, tell } from "./header.js";
import { actionsButton, buttonTo } from "./guard.js";
import { fillRow, nameOf, rowOf } from "./passes.js";
import { stayTold } from "./times.js";
import { announce, element, find, say } from "../page/words.js";

const PAGE = 100;
const FRESH_MS = 60_000;

let sites = [];
let cursor = "";
let hasMore = false; // the reader has asked for more; they stay

async function start() {
  sites = await getAll("v1/sites", "sites");
  find("no-sites").hidden = sites.length > 0;
  find("site-field").hidden = sites.length < 2;
  find("inside").hidden = !sites.length;
  find("site").append(...sites.map(({ name }) => new Option(name, name)));
  const asked = new URLSearchParams(location.search);
  if (sites.some(({ name }) => name === asked.get("site"))) find("site").value = asked.get("site");
  find("overstays").checked = asked.has("overstays");
  await show();
}

const siteOf = () => sites.find(({ name }) => name === find("site").value);
const pathOf = (site) => `v1/sites/${encodeURIComponent(site.name)}`;

async function show(from = "", options = {}) {
  const site = siteOf();
  if (!site) return;
  find("overstays-field").hidden = !site.max_stay_hours;
  const query = { limit: PAGE, cursor: from, overstays: site.max_stay_hours && find("overstays").checked ? "true" : "" };
  const page = await get(`${pathOf(site)}/vehicles`, query, options);
  const rows = page.vehicles.map(rowFor);
  if (from) find("vehicles").append(...rows);
  else find("vehicles").replaceChildren(...rows);
  cursor = page.cursor;
  find("more").hidden = !cursor;
  showCount();
  if (site.max_stay_hours) find("limit").textContent = say("stay_limit", { time: stayTold(3600 * site.max_stay_hours) });
  find("limit").hidden = !site.max_stay_hours;
}

function showCount() {
  const shown = find("vehicles").children.length;
  find("nobody").hidden = shown > 0;
  find("told").textContent = say("inside_count", { count: `${shown}${cursor ? "+" : ""}` });
}

// A vehicle whose exit was not read; until it comes again, it counts as gone.
async function markLeft(entry, row) {
  const path = `${pathOf(siteOf())}/departures/${encodeURIComponent(entry.id)}`;
  await send("PUT", path);
  row.remove();
  showCount();
  const [box, told] = [find("undo"), say("marked_left", { text: nameOf(entry) })];
  box.hidden = false;
  box.querySelector("span").textContent = told;
  announce(told);
  box.querySelector("button").onclick = () => {
    box.hidden = true;
    remove(path).then(restart).catch(tell);
  };
}

function rowFor({ entry, stay_s: stay, is_overstay: isOver }) {
  const row = rowOf(entry);
  const pill = element("b", stayTold(stay), `pill ${isOver ? "warm" : ""}`);
  if (isOver) pill.title = say("stays_too_long");
  fillRow(row, entry, [pill, ...(isOver ? [element("span", say("stays_too_long"), "over")] : []), ...actionsButton(entry, undefined, () => [buttonTo(say("mark_left"), () => markLeft(entry, row), "")])]);
  row.classList.toggle("overstay", isOver);
  return row;
}

function restart() {
  hasMore = false;
  find("undo").hidden = true;
  show().then(() => announce(find("told").textContent)).catch(tell);
}

showHeader();
find("site").addEventListener("change", restart);
find("overstays").addEventListener("change", restart);
find("more").addEventListener("click", () => {
  hasMore = true;
  show(cursor).catch(tell);
});
start().catch(tell);
setInterval(() => {
  if (!hasMore && document.visibilityState === "visible" && !document.querySelector("dialog")) show("", { quiet: true, auto: true }).catch(() => {}); // the next one tells
}, FRESH_MS);
