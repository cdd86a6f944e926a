// The pictures of the page: sends them to the service one after the other, and shows the answers.

import { recognize } from "./calls.js";
import { forgetPicture, makeCard, setNote, setState, showPicture, showPlates, showProblem } from "./cards.js";
import { prepare } from "./intake.js";
import { drawTable } from "./table.js";
import { announce, countOf, find, notify, say, secondsOf, textOf } from "./words.js";

const entries = []; // one for each picture, in the order they were given
const progress = { done: 0, count: 0 };

let queue = Promise.resolve();
let round = 0; // grows with each clearing: answers that are still to come then belong to nothing
let hasScrolled = false; // since pictures were taken; the page then stays where its reader is

export function take(files, name) {
  const taken = [...files];
  notify(taken.length ? "" : say("no_pictures"));
  if (!taken.length) return;
  const added = taken.map((file) => add(file, name ?? file.name));
  document.body.classList.add("with-results");
  find("results").hidden = false;
  hasScrolled = false;
  added[0].aim = taken.length > 1 ? find("results") : added[0].card;
  update();
  bringIntoView(added[0].aim);
  added.forEach(enqueue);
}

export function answersOf() {
  return entries.map((entry) => entry.answer).filter((answer) => "plates" in answer || "problem" in answer);
}

export function clear() {
  for (const { card } of entries) forgetPicture(card);
  round += 1;
  entries.length = 0;
  Object.assign(progress, { done: 0, count: 0 });
  update();
  find("cards").replaceChildren();
  find("copied").hidden = find("results").hidden = true;
  document.body.classList.remove("with-results");
  notify("");
  announce(say("cleared"));
  find("pictures").focus();
  window.scrollTo(0, 0);
}

function add(file, name) {
  const entry = { file, answer: { name }, number: entries.length + 1, round };
  entry.card = makeCard(name, entry.number, () => enqueue(entry));
  entries.push(entry);
  find("cards").append(entry.card);
  return entry;
}

function enqueue(entry) {
  if (progress.done === progress.count) Object.assign(progress, { done: 0, count: 0 });
  progress.count += 1;
  setState(entry.card, "waiting");
  update();
  queue = queue.then(() => (entry.round === round ? read(entry) : undefined));
}

async function read(entry) {
  const { card, answer } = entry;
  setState(card, "reading");
  update();
  if (progress.count - progress.done === 1) announce(say("working"));
  entry.prepared ??= await prepare(entry.file);
  const { file, note, problem } = entry.prepared;
  if (entry.round !== round) return;
  if (file) {
    setNote(card, note);
    showPicture(card, file);
  }
  const began = performance.now();
  const reply = problem ? { problem } : await recognize(file, find("key").value.trim());
  if (entry.round !== round) return;
  delete answer.problem;
  Object.assign(answer, reply);
  const took = say("took", { seconds: secondsOf(performance.now() - began) });
  const told = await show(entry, took);
  if (entry.round !== round) return;
  progress.done += 1;
  update();
  tell(entry, told);
}

async function show(entry, took) {
  const { card, answer } = entry;
  if (answer.problem) return showProblem(card, answer.problem);
  entry.thumbnail = await showPlates(card, { ...answer, number: entry.number, took });
  const texts = answer.plates.map(textOf).filter(Boolean).join(", ");
  return texts ? `${countOf(answer.plates)}: ${texts}.` : countOf(answer.plates);
}

function tell(entry, told) {
  const left = progress.count - progress.done;
  announce(say("overview", { name: entry.answer.name, told }) + (left ? ` ${say("left", { count: left })}` : ""));
  if (entry.aim && !hasScrolled) bringIntoView(entry.aim);
  delete entry.aim;
}

// Scrolls where something is cut off. The bar covers what is above its lower edge.
function bringIntoView(place) {
  const bar = find("bar");
  const covered = getComputedStyle(bar).position === "sticky" ? bar.offsetHeight : 0;
  document.documentElement.style.setProperty("--bar", `${covered}px`);
  const { top, bottom } = place.getBoundingClientRect();
  const isWhole = top >= bar.getBoundingClientRect().bottom && bottom <= window.innerHeight;
  if (!isWhole) place.scrollIntoView();
}

function update() {
  const { done, count } = progress;
  find("progress").hidden = count < 2 || done === count;
  find("progress-bar").max = Math.max(count, 1);
  find("progress-bar").value = done;
  find("progress-text").textContent = say("progress", { done, count });
  find("results").classList.toggle("several", entries.length > 1);
  for (const id of ["save-csv", "save-json", "copy-csv", "copy-json"]) find(id).disabled = !answersOf().length;
  drawTable(find("table"), entries);
}

for (const event of ["wheel", "touchmove", "keydown"]) {
  document.addEventListener(event, () => (hasScrolled = true), { passive: true });
}
