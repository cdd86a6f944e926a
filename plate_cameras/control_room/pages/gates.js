// The gates, and what was opened for whom.

import { address, get, getAll } from "./api.js";
import { showHeader, tell } from "./header.js";
import { openGate } from "./guard.js";
import { outcomeOf, personOf, reasonOf } from "./openings.js";
import { may } from "./session.js";
import { secondsTold, whenOf } from "./times.js";
import { lookOf } from "./tones.js";
import { element, find, pair, say, spell, words } from "../page/words.js";

const PAGE = 50;
const FRESH_MS = 5000;

let cursor = "";
let shown = ""; // the gates as they are shown
let hasMore = false; // the reader has asked for older ones; they stay

async function showGates() {
  const gates = await getAll("v1/gates", "gates");
  find("no-gates").hidden = gates.length > 0;
  if (JSON.stringify(gates) === shown) return; // buttons keep the focus
  shown = JSON.stringify(gates);
  find("gates").replaceChildren(...gates.map(cardOf));
}

const chipOf = (list) => element("span", list, `chip tone-${lookOf(list).tone}`);

function unmetOf({ code, name, sentence }) {
  const text = `unmet_${code}`;
  return element("p", text in words ? say(text, { name }) : sentence, "unmet");
}

function cardOf({ name, type, cameras, lists, blocked_lists: blocked, unmet }) {
  const card = element("li", "", "panel gate");
  const facts = element("dl", "", "facts");
  facts.append(pair(say("camera"), cameras.join(", ") || "–"), pair(say("opens_for"), ""));
  facts.lastElementChild.querySelector("dd").append(...lists.map(chipOf));
  if (blocked.length) {
    facts.append(pair(say("never_for"), ""));
    facts.lastElementChild.querySelector("dd").append(...blocked.map(chipOf));
  }
  const head = element("div", "", "gate-head");
  head.append(element("h3", name), element("span", type, "tag"));
  card.append(head, facts, ...(unmet ?? []).map(unmetOf));
  if (may("editor")) {
    const button = Object.assign(element("button", say("open_now"), "main"), { type: "button" });
    button.addEventListener("click", () => openGate(name, undefined, () => showOpenings().catch(tell)).catch(tell));
    card.append(button);
  }
  return card;
}

async function showOpenings(from = "") {
  const page = await get("v1/gates/openings", { limit: PAGE, cursor: from });
  const rows = page.openings.map(rowOf);
  if (from) find("openings").append(...rows);
  else find("openings").replaceChildren(...rows);
  cursor = page.cursor;
  find("more").hidden = !cursor;
  find("no-openings").hidden = find("openings").children.length > 0;
}

function rowOf(opening) {
  const row = element("tr");
  const outcome = element("td");
  outcome.append(outcomeOf(opening));
  outcome.classList.toggle("long", Boolean(opening.reason));
  if (opening.reason) outcome.append(reasonOf(opening));
  const plate = element("td");
  if (opening.pass_id) {
    const link = element("a", opening.text ? spell(opening.text) : say("unread"), "code");
    link.href = address(`passes/${encodeURIComponent(opening.pass_id)}`);
    plate.append(link);
  } else plate.append("–");
  const list = element("td");
  if (opening.list) list.append(chipOf(opening.list));
  list.append(...personOf(opening));
  if (opening.entry_text && opening.entry_text !== opening.text) list.append(element("small", ` ${say("listed_as", { text: spell(opening.entry_text) })}`, "faint"));
  row.append(whenOf(opening.time), plate, element("th", opening.gate), outcome, list, element("td", opening.camera), element("td", opening.delay_s !== null ? secondsTold(opening.delay_s) : "–", "number"));
  row.querySelector("th").scope = "row";
  return row;
}

showHeader();
find("more").addEventListener("click", () => {
  hasMore = true;
  showOpenings(cursor).catch(tell);
});
Promise.all([showGates(), showOpenings()]).catch(tell);
setInterval(() => {
  if (!hasMore && document.visibilityState === "visible") Promise.all([showGates(), showOpenings()]).catch(() => {}); // the next one tells
}, FRESH_MS);
