// Connects the controls of the page.

import { answersOf, clear, take } from "./batch.js";
import * as camera from "./camera.js";
import { copy, save, toCsv, toJson } from "./copies.js";
import { showKey } from "./key.js";
import { find, notify, say } from "./words.js";


async function trySample(button) {
  try {
    const response = await fetch(button.dataset.file);
    take([await response.blob()], button.textContent.trim());
  } catch {
    notify(say("no_sample"));
  }
}

async function shoot() {
  const picture = await camera.shoot();
  if (picture) take([picture], say("shot"));
}

document.documentElement.classList.add("scripted");
showKey();
for (const id of ["samples", "ways", "shrinks"]) find(id).hidden = false;
find("camera").hidden = !navigator.mediaDevices?.getUserMedia; // browsers have it on HTTPS and localhost alone

find("form").addEventListener("submit", (event) => event.preventDefault()); // Enter in the key's field
find("pictures").addEventListener("change", ({ target }) => {
  take(target.files);
  target.value = ""; // so that the same picture can be chosen again
});
find("drop").addEventListener("click", ({ target }) => {
  const isZone = !target.closest("button, input, label, a") && !document.body.classList.contains("with-results");
  if (isZone) find("pictures").click();
});
for (const button of document.querySelectorAll(".sample")) button.addEventListener("click", () => trySample(button));
find("camera").addEventListener("click", () => (camera.isOpen() ? camera.close() : camera.open()));
find("stop").addEventListener("click", camera.close);
find("shoot").addEventListener("click", shoot);
find("save-csv").addEventListener("click", () => save(toCsv(answersOf()), "plates.csv", "text/csv"));
find("save-json").addEventListener("click", () => save(toJson(answersOf()), "plates.json", "application/json"));
find("copy-json").addEventListener("click", () => copy(toJson(answersOf()), "JSON"));
find("copy-csv").addEventListener("click", () => copy(toCsv(answersOf()), "CSV"));
find("clear").addEventListener("click", clear);

document.addEventListener("paste", ({ clipboardData }) => {
  if (clipboardData.files.length) take(clipboardData.files, clipboardData.files.length === 1 ? say("pasted") : undefined);
});
document.addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("dropping");
});
for (const end of ["dragleave", "drop"]) document.addEventListener(end, () => document.body.classList.remove("dropping"));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  take(event.dataTransfer.files);
});
