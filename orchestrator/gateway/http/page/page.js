// Sends pictures to /v1/recognize, one after the other, and shows what comes back.
// Every text of the server and of files becomes text on the page, never HTML.
import { describe, mark } from "./plates.js";
import { countOf, element, milliseconds, pair, say, words } from "./words.js";

const find = (id) => document.getElementById(id);
const answers = []; // one for each picture, in the order they were given: {name, plates} or {name, problem}

let queue = Promise.resolve();
let waiting = 0;
let round = 0; // grows with each clearing: answers that are still to come then belong to nothing

function announce(text) {
  find("status").textContent = text;
}

// Pictures in

function take(files, name) {
  const pictures = [...files].filter((file) => file.type.startsWith("image/") || !file.type);
  if (!pictures.length) announce(say("no_pictures"));
  for (const picture of pictures) add(picture, name ?? picture.name);
}

function add(file, name) {
  const card = find("card").content.firstElementChild.cloneNode(true);
  const entry = { file, card, answer: { name }, number: answers.length + 1, round };
  answers.push(entry.answer);
  card.querySelector("h3").textContent = name;
  card.querySelector(".again").addEventListener("click", () => {
    card.focus(); // the button goes
    enqueue(entry);
  });
  find("cards").append(card);
  find("results").hidden = false;
  show(entry);
  enqueue(entry);
}

function enqueue(entry) {
  waiting += 1;
  entry.card.querySelector(".problem").hidden = true;
  entry.card.querySelector(".summary").textContent = say("waiting");
  queue = queue.then(() => recognize(entry));
}

async function recognize(entry) {
  if (entry.round === round) {
    const summary = entry.card.querySelector(".summary");
    summary.textContent = say("working");
    if (waiting === 1) announce(say("working"));
    const began = performance.now();
    const answer = await ask(entry.file);
    const seconds = ((performance.now() - began) / 1000).toFixed(2);
    if (entry.round === round) tell(entry, answer, say("took", { seconds }));
  }
  waiting -= 1;
}

async function ask(file) {
  const headers = { "content-type": "application/octet-stream" }; // the server looks at the bytes
  const key = find("key").value.trim();
  if (/[^!-~]/.test(key)) return { problem: { reason: "key" } }; // no header can hold it
  if (key) headers["x-api-key"] = key;
  try {
    const response = await fetch("v1/recognize", { method: "POST", headers, body: file });
    const content = await response.json().catch(() => ({}));
    const { plates, seconds } = content.pictures?.[0] ?? {};
    return plates ? { plates, seconds } : { problem: { status: response.status, ...content } };
  } catch (error) {
    return { problem: { reason: "offline", detail: error.message } };
  }
}

// Answers out

function tell(entry, answer, took) {
  delete entry.answer.problem;
  Object.assign(entry.answer, answer);
  const { name, plates } = entry.answer;
  const told = plates ? countOf(plates) : showProblem(entry.card, answer.problem);
  entry.card.querySelector(".summary").textContent = plates ? `${told}, ${took}` : "";
  if (plates) showPlates(entry, plates);
  showTime(entry.card.querySelector(".time"), answer.seconds);
  const texts = (plates ?? []).map((plate) => plate.text || say("unread")).join(", ");
  const left = waiting > 1 ? ` ${say("left", { count: waiting - 1 })}` : "";
  announce(say("overview", { name, told: texts ? `${told}: ${texts}.` : told }) + left);
}

function showProblem(card, problem) {
  const known = words.problems[problem.reason];
  const told = known ?? (problem.reason === "offline" ? say("offline") : say("unknown", { status: problem.status }));
  const box = card.querySelector(".problem");
  box.hidden = false;
  box.querySelector(".words").textContent = told;
  box.querySelector(".detail").textContent = problem.detail ?? "";
  box.querySelector(".again").textContent = say("again");
  const meaning = box.querySelector(".meaning");
  meaning.hidden = !String(problem.type).startsWith("/docs#");
  if (!meaning.hidden) meaning.href = problem.type.slice(1); // also where the service lies below a path
  meaning.textContent = say("meaning");
  return told;
}

function show({ file, card, answer }) {
  const picture = card.querySelector("img");
  picture.alt = answer.name;
  picture.addEventListener("error", () => picture.replaceWith(element("p", say("undrawn"))));
  picture.src = URL.createObjectURL(file);
}

function showTime(box, seconds) {
  box.hidden = !seconds;
  box.querySelector("summary").textContent = say("time");
  const told = Object.entries(seconds ?? {}).map(([stage, took]) => pair(words.stages[stage] ?? stage, milliseconds(took)));
  box.querySelector("dl").replaceChildren(...told);
}

async function showPlates(entry, plates) {
  const picture = entry.card.querySelector("img");
  if (picture) {
    picture.alt = say("picture", { name: entry.answer.name, told: countOf(plates) });
    await picture.decode().catch(() => {});
  }
  const isDrawn = Boolean(picture?.naturalWidth);
  const outlines = entry.card.querySelector("svg");
  if (isDrawn) outlines.setAttribute("viewBox", `0 0 ${picture.naturalWidth} ${picture.naturalHeight}`);
  plates.forEach((plate, index) => {
    const id = `plate-${entry.number}-${index + 1}`;
    entry.card.querySelector(".plates").append(describe(plate, index + 1, id, isDrawn && picture));
    if (isDrawn) mark(entry.card.querySelector(".stage"), plate, index + 1, id);
  });
}

// Copies

function toJson() {
  return JSON.stringify({ pictures: answers.filter(isAnswered) }, null, 2);
}

function toCsv() {
  const head = ["picture", "text", "text_score", "detection_score", "x0", "y0", "x1", "y1", "format", "region_code", "region", "problem"];
  const rows = answers.filter(isAnswered).flatMap(({ name, plates, problem }) =>
    problem
      ? [[name, ...Array(10).fill(""), problem.reason ?? problem.status]]
      : plates.map((one) => [name, one.text, one.text_score, one.detection_score, ...one.xyxy, one.format, one.region?.code ?? "", one.region?.name ?? "", ""]),
  );
  return [head, ...rows].map((row) => row.map(cell).join(",") + "\r\n").join("");
}

// RFC 4180; a spreadsheet would take a file's name that begins with = for a formula.
function cell(value) {
  const text = typeof value === "string" ? value.replace(/^[=+\-@\t\r]/, "'$&") : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function isAnswered(answer) {
  return "plates" in answer || "problem" in answer;
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    announce(say("copied", { what }));
  } catch {
    // plain HTTP, or the browser does not let us
    find("copied").hidden = false;
    find("copied-text").value = text;
    find("copied-text").select();
    announce(say("select"));
  }
}

function clear() {
  for (const picture of document.querySelectorAll("#cards img")) URL.revokeObjectURL(picture.src);
  round += 1;
  answers.length = 0;
  find("cards").replaceChildren();
  find("copied").hidden = find("results").hidden = true;
  find("pictures").focus();
  announce(say("cleared"));
}

// The camera and the sample

async function openCamera() {
  try {
    find("video").srcObject = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment", width: { ideal: 1920 } } });
    find("viewfinder").hidden = false;
    find("camera").ariaExpanded = "true";
    find("shoot").disabled = true; // until there is something to see
    await find("video").play();
    find("shoot").disabled = false;
    find("shoot").focus();
  } catch (error) {
    announce(say("no_camera", { why: error.message }));
  }
}

function closeCamera() {
  find("video").srcObject?.getTracks().forEach((track) => track.stop());
  find("video").srcObject = null;
  find("viewfinder").hidden = true;
  find("camera").ariaExpanded = "false";
  find("camera").focus();
}

function shoot() {
  const video = find("video");
  const canvas = element("canvas");
  canvas.width = video.videoWidth;
  canvas.height = video.videoHeight;
  canvas.getContext("2d").drawImage(video, 0, 0);
  canvas.toBlob((picture) => picture && take([picture], say("shot")), "image/jpeg", 0.95);
}

async function trySample() {
  try {
    const response = await fetch("page/sample.jpg");
    take([await response.blob()], say("sample"));
  } catch {
    announce(say("no_sample"));
  }
}

// Everything is there: connect it

document.documentElement.classList.add("scripted");
for (const id of ["sample", "ways"]) find(id).hidden = false;
find("camera").hidden = !navigator.mediaDevices?.getUserMedia; // browsers have it on HTTPS and localhost alone

find("form").addEventListener("submit", (event) => event.preventDefault()); // Enter in the key's field
find("pictures").addEventListener("change", ({ target }) => {
  take(target.files);
  target.value = ""; // so that the same picture can be chosen again
});
find("sample").addEventListener("click", trySample);
find("camera").addEventListener("click", () => (find("video").srcObject ? closeCamera() : openCamera()));
find("stop").addEventListener("click", closeCamera);
find("shoot").addEventListener("click", shoot);
find("copy-json").addEventListener("click", () => copy(toJson(), "JSON"));
find("copy-csv").addEventListener("click", () => copy(toCsv(), "CSV"));
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
