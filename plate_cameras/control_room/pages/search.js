// The search page. Its address holds the query, so that a search can be kept and shared.

import { get, getAll } from "./api.js";
import { showCounts } from "./counts.js";
import { savePasses, saveTable } from "./downloads.js";
import { showHeader, tell } from "./header.js";
import { keepQuery } from "./language.js";
import { rowOf } from "./passes.js";
import { fromAddress, fromForm, hasMore, toAddress, toForm } from "./query.js";
import { find, notify, numberOf, say, sayCount, words } from "../page/words.js";

const PAGE = 50;

let query = fromAddress();
let cursor = "";
let round = 0; // grows with each search: late answers then belong to nothing

// At first, and without conditions, the page asks by itself.
async function search({ auto = false } = {}) {
  const current = (round += 1);
  notify("");
  cursor = "";
  find("told").textContent = say("searching");
  find("rows").classList.add("old");
  try {
    const page = await get("v1/passes", { ...query, limit: PAGE }, { auto });
    if (current !== round) return;
    find("rows").replaceChildren();
    showPage(page);
    await showCounts(query, narrow);
  } catch (problem) {
    if (current !== round) return;
    find("told").textContent = "";
    tell(problem);
  } finally {
    if (current === round) find("rows").classList.remove("old");
  }
}

function showPage(page) {
  cursor = page.cursor;
  find("rows").append(...page.passes.map((pass) => rowOf(pass)));
  const count = find("rows").children.length;
  const told = cursor ? say("found_more", { count: numberOf(count) }) : sayCount("found", count);
  find("told").textContent = count ? told : "";
  find("more").hidden = !cursor;
  find("none").hidden = count > 0;
  find("none").textContent = say(Object.values(query).some(Boolean) ? "nothing_found" : "no_passes");
  for (const id of ["save-csv", "save-json"]) find(id).disabled = !count;
}

async function showMore() {
  find("more").disabled = true;
  try {
    const count = find("rows").children.length;
    showPage(await get("v1/passes", { ...query, limit: PAGE, cursor }));
    find("rows").children[count]?.querySelector("a").focus();
  } catch (problem) {
    tell(problem);
  }
  find("more").disabled = false;
}

function go(next) {
  query = next;
  history.pushState(null, "", toAddress(query));
  keepQuery();
  return search();
}

function narrow(change) {
  const times = Object.fromEntries(["from", "until"].filter((name) => change[name]).map((name) => [name, change[name].toISOString()]));
  const next = { ...query, ...change, ...times };
  toForm(next);
  go(next);
}

async function fillChoices() {
  const [cameras, lists] = await Promise.all([getAll("v1/cameras", "cameras"), getAll("v1/lists", "lists")]);
  const zones = new Set(cameras.flatMap((camera) => (camera.zones ?? []).map(({ name }) => name)));
  const choices = { camera: cameras.map(({ name }) => name), list: lists.map(({ name }) => name), zone: [...zones] };
  for (const [id, names] of Object.entries(choices)) {
    const known = [...find(id).options].map((one) => one.value);
    find(id).append(...names.filter((name) => !known.includes(name)).map((name) => new Option(name, name)));
  }
}

function download(button, work) {
  button.addEventListener("click", async () => {
    button.disabled = true;
    await work().catch(tell);
    button.disabled = false;
  });
}

showHeader();
find("more-filters").open = hasMore(query) || window.innerWidth >= 900;
find("search").addEventListener("submit", (event) => {
  event.preventDefault();
  go(fromForm());
});
find("reset").addEventListener("click", () => {
  toForm({});
  go({});
});
find("more").addEventListener("click", showMore);
download(find("save-csv"), () => saveTable(query));
download(find("save-json"), () => savePasses(query, (count) => (find("told").textContent = say("saving", { count }))));
window.addEventListener("popstate", () => {
  query = fromAddress();
  toForm(query);
  keepQuery();
  search();
});
document.addEventListener("reason", () => search());
fillChoices().catch(tell);
search({ auto: !Object.keys(query).length });
