// Who is inside of a site, and for how long.

import { get, getAll } from "./api.js";
import { showHeader, tell } from "./header.js";
import { actionsButton } from "./guard.js";
import { fillRow, rowOf } from "./passes.js";
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

async function show(from = "") {
  const site = sites.find(({ name }) => name === find("site").value);
  if (!site) return;
  find("overstays-field").hidden = !site.max_stay_hours;
  const query = { limit: PAGE, cursor: from, overstays: site.max_stay_hours && find("overstays").checked ? "true" : "" };
  const page = await get(`v1/sites/${encodeURIComponent(site.name)}/vehicles`, query);
  const rows = page.vehicles.map(rowFor);
  if (from) find("vehicles").append(...rows);
  else find("vehicles").replaceChildren(...rows);
  cursor = page.cursor;
  find("more").hidden = !cursor;
  find("nobody").hidden = find("vehicles").children.length > 0;
  const count = `${find("vehicles").children.length}${cursor ? "+" : ""}`;
  find("told").textContent = say("inside_count", { count });
  if (site.max_stay_hours) find("limit").textContent = say("stay_limit", { time: stayTold(3600 * site.max_stay_hours) });
  find("limit").hidden = !site.max_stay_hours;
}

function rowFor({ entry, stay_s: stay, is_overstay: isOver }) {
  const row = rowOf(entry);
  const pill = element("b", stayTold(stay), `pill ${isOver ? "warm" : ""}`);
  if (isOver) pill.title = say("stays_too_long");
  fillRow(row, entry, [pill, ...(isOver ? [element("span", say("stays_too_long"), "over")] : []), ...actionsButton(entry)]);
  row.classList.toggle("overstay", isOver);
  return row;
}

function restart() {
  hasMore = false;
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
  if (!hasMore && document.visibilityState === "visible" && !document.querySelector("dialog")) show().catch(() => {}); // the next one tells
}, FRESH_MS);
