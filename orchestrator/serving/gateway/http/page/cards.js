// The card of one picture: its state, the picture, and the plates or the problem.
// Every text of the server and of files becomes text on the page, never HTML.

import { describe, describeUnread } from "./plates.js";
import { makeThumbnail, mark } from "./stage.js";
import { clone, countOf, element, isLocal, milliseconds, pair, say, sayDetail, sayProblem, words } from "./words.js";

export function makeCard(name, number, again) {
  const card = clone("card");
  card.id = `picture-${number}`;
  card.querySelector("h3").textContent = name;
  card.querySelector(".again").addEventListener("click", () => {
    card.focus(); // the button goes
    again();
  });
  setState(card, "waiting");
  return card;
}

// A state is waiting, reading, done or failed.
export function setState(card, state) {
  card.dataset.state = state;
  card.querySelector(".state").textContent = say(`state_${state}`);
  card.querySelector(".summary").textContent = "";
  if (state === "reading" || state === "waiting") card.querySelector(".problem").hidden = true;
}

export function setNote(card, note = "") {
  card.querySelector(".note").textContent = note;
  card.querySelector(".note").hidden = !note;
}

export function showPicture(card, file) {
  const stage = card.querySelector(".stage");
  let picture = stage.querySelector("img");
  if (picture.src) return;
  picture.addEventListener("error", () => {
    picture.replaceWith(element("p", say("undrawn"), "undrawn"));
    stage.classList.add("empty");
  });
  picture.alt = card.querySelector("h3").textContent;
  picture.src = URL.createObjectURL(file);
}

export function forgetPicture(card) {
  const picture = card.querySelector(".stage img");
  if (picture?.src) URL.revokeObjectURL(picture.src);
}

// Returns what a problem says to the reader.
export function showProblem(card, problem) {
  setState(card, "failed");
  const isOurs = isLocal(problem); // no use in trying again
  const told = sayProblem(problem);
  const box = card.querySelector(".problem");
  box.hidden = false;
  box.querySelector(".words").textContent = told;
  box.querySelector(".detail").textContent = sayDetail(problem.detail);
  box.querySelector(".again").textContent = say("again");
  box.querySelector(".again").hidden = isOurs;
  const meaning = box.querySelector(".meaning");
  meaning.hidden = !String(problem.type).startsWith("/docs#");
  if (!meaning.hidden) meaning.href = problem.type.slice(1); // also where the service lies below a path
  meaning.textContent = say("meaning");
  return told;
}

// Returns a thumbnail of the picture; undefined where the browser cannot draw it.
export async function showPlates(card, { name, number, plates, seconds, took }) {
  const picture = card.querySelector(".stage img");
  if (picture) {
    picture.alt = say("picture", { name, told: countOf(plates) });
    await picture.decode().catch(() => {});
  }
  const isDrawn = Boolean(picture?.naturalWidth);
  if (isDrawn) card.querySelector(".outlines").setAttribute("viewBox", `0 0 ${picture.naturalWidth} ${picture.naturalHeight}`);
  plates.forEach((plate, index) => place(card, plate, index + 1, `plate-${number}-${index + 1}`, isDrawn && picture));
  showUnread(card, plates);
  showHint(card.querySelector(".nothing"), plates);
  showTime(card.querySelector(".time"), seconds);
  setState(card, "done");
  card.querySelector(".summary").textContent = `${countOf(plates)}, ${took}`;
  return isDrawn ? makeThumbnail(picture) : undefined;
}

function place(card, plate, number, id, picture) {
  const item = (plate.text ? describe : describeUnread)(plate, number, id, picture);
  card.querySelector(plate.text ? ".plates" : ".unread-plates").append(item);
  if (picture) mark(card.querySelector(".stage"), plate, number, item);
}

function showHint(hint, plates) {
  hint.hidden = plates.some((plate) => plate.text);
  hint.textContent = say("hint", { told: plates.length ? unreadLine(plates, plates) : say("none") });
}

function showUnread(card, plates) {
  const unread = plates.filter((plate) => !plate.text);
  card.querySelector(".unread-rest").hidden = unread.length === 0;
  card.querySelector(".unread-rest summary").textContent = unread.length < plates.length ? unreadLine(plates, unread) : say("show");
}

export function unreadLine(plates, unread) {
  return unread.length < plates.length ? say("unread_more", { count: unread.length }) : countOf(unread);
}

function showTime(box, seconds) {
  box.hidden = !seconds;
  box.querySelector("summary").textContent = say("time");
  const told = Object.entries(seconds ?? {}).map(([stage, took]) => pair(words.stages[stage] ?? stage, milliseconds(took)));
  box.querySelector("dl").replaceChildren(...told);
}
