// The page of one pass.

import { get } from "./api.js";
import { showEvidence } from "./evidence.js";
import { showHeader, tell } from "./header.js";
import { actionsFor } from "./guard.js";
import { showNeighbours } from "./neighbours.js";
import { showOutcome } from "./openings.js";
import { directionOf, hitOf, icon, nameOf, plateOf, regionOf } from "./passes.js";
import { showSight } from "./picture.js";
import { connectRequests } from "./plate_requests.js";
import { showReadings } from "./readings.js";
import { clockOf, secondsTold, timesOf } from "./times.js";
import { copyButton } from "../page/copies.js";
import { element, find, formatOf, numberOf, pair, percent, say, sayCount, spell, spellingsOf } from "../page/words.js";

const LEAST = 0.005; // candidates below are noise

async function show() {
  const id = decodeURIComponent(location.pathname.split("/").at(-1));
  try {
    const pass = await get(`v1/passes/${encodeURIComponent(id)}`, { neighbours: true });
    find("pass").hidden = false;
    document.title = `${nameOf(pass)} · ${document.title}`;
    document.querySelector("h1").textContent = say("pass_title", { text: nameOf(pass), camera: pass.camera });
    showSight(pass);
    showFace(pass);
    showFacts(pass);
    showCandidates(pass);
    showTrack(pass);
    find("acts").append(...actionsFor(pass, (opening) => showTrack({ ...pass, openings: [...pass.openings, opening] })));
    showEvidence(find("evidence"), pass);
    showReadings(find("chart"), find("readings"), pass);
    connectRequests(pass);
    showNeighbours(pass);
  } catch (problem) {
    tell(problem.status === 404 ? new Error(say("no_pass")) : problem);
  }
}

function showFace(pass) {
  find("face").append(plateOf(pass));
  if (!pass.text) return;
  const texts = element("div", "", "spellings");
  for (const { text, lang, name } of spellingsOf(pass)) {
    const line = element("p", "", "spelling");
    const told = element("b", text);
    told.lang = lang;
    line.append(element("span", name, "faint"), " ", told, " ", copyButton(text, "quiet"));
    texts.append(line);
  }
  find("face").append(texts);
  find("hits").append(...(pass.lists ?? []).map((hit) => hitOf(hit, pass.text)));
}

function showFacts(pass) {
  const lasted = (new Date(pass.last_seen) - new Date(pass.first_seen)) / 1000;
  const facts = [
    [say("camera"), pass.camera],
    [say("first_seen"), timesOf(pass).dateTimeOf(pass.first_seen)],
    [say("lasted"), `${secondsTold(lasted)}, ${sayCount("frames", pass.frames)}`],
    [say("direction"), pass.direction && say(pass.direction)],
    [say("certainty"), pass.text && percent(pass.text_score)],
    [say("region"), pass.region_code && `${regionOf(pass)} (${pass.region_code})`],
    [say("format"), pass.format && formatOf(pass)],
    [say("zones"), pass.zones.join(", ")],
    [say("speed"), pass.speed_widths_s && say(`speed_${paceOf(pass.speed_widths_s)}`, { count: numberOf(pass.speed_widths_s) })],
    [say("kmh"), pass.speed_kmh && `${numberOf(pass.speed_kmh)} ± ${numberOf(pass.speed_error_kmh)}`],
    [say("progress"), pass.progress !== "closed" && say(pass.progress)],
  ];
  find("facts").append(...facts.filter(([, value]) => value).map(([name, value]) => pair(name, value)));
}

// Plate widths a second.
const paceOf = (speed) => (speed < 0.3 ? "still" : speed < 3 ? "slow" : speed < 10 ? "medium" : "fast");

function showCandidates(pass) {
  const shown = pass.candidates.filter(({ score }, index) => score >= LEAST || index === 0);
  find("candidates").append(
    ...shown.map(({ text, score }) => {
      const item = element("li", "", text === pass.text ? "bar-row winner" : "bar-row");
      const bar = element("span", "", "bar");
      bar.style.setProperty("--share", score);
      item.append(element("code", spell(text)), bar, element("b", percent(score), "number"));
      return item;
    }),
  );
}

// What happened with the vehicle: seen, zones, lines, gates.
function showTrack(pass) {
  const crossings = pass.crossings.map(({ line, side, time }) => [time, say("crossed", { line, side: say(`side_${side}`) })]);
  const openings = (pass.openings ?? []).map((opening) => [opening.time, showOutcome(opening), clockOf]); // by the clock on the wall
  const events = [
    [pass.first_seen, say("event_first")],
    [pass.best.time, say("event_best")],
    ...crossings,
    ...openings,
    ...(pass.progress === "closed" ? [[pass.last_seen, say("event_last")]] : []),
  ];
  events.sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0));
  const rows = events.map(([time, told, tell = timesOf(pass).clockOf]) => {
    const item = element("li");
    item.append(element("time", tell(time)), told);
    return item;
  });
  if (pass.zones.length) {
    const item = element("li");
    item.append(element("span", ""), say("was_in", { zones: pass.zones.join(", ") }));
    rows.push(item);
  }
  if (pass.direction) rows[0].append(icon(pass.direction), directionOf(pass).textContent);
  find("track").replaceChildren(...rows);
}

showHeader();
show();
