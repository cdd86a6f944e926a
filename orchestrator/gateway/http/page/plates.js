// One plate: its outline over the picture, and everything that the server says of it.

import { element, pair, percent, say } from "./words.js";

const CYRILLIC = { A: "А", B: "В", E: "Е", K: "К", M: "М", H: "Н", O: "О", P: "Р", C: "С", T: "Т", Y: "У", X: "Х" };
const SURE = 0.9; // characters less sure than this are marked; their percentage tells the rest

export function mark(stage, plate, number, id) {
  const picture = stage.querySelector("img");
  const outline = document.createElementNS("http://www.w3.org/2000/svg", "polygon");
  outline.setAttribute("points", plate.corners.map((corner) => corner.join()).join(" "));
  outline.classList.toggle("unread", !plate.text);
  stage.querySelector("svg").append(outline);
  const label = element("a", String(number), "label");
  label.classList.toggle("unread", !plate.text);
  label.append(element("span", ` ${plate.text || "?"}`));
  label.href = `#${id}`;
  label.style.left = `${(100 * (plate.xyxy[0] + plate.xyxy[2])) / 2 / picture.naturalWidth}%`;
  label.style.top = `${(100 * plate.xyxy[1]) / picture.naturalHeight}%`;
  stage.append(label);
}

export function describe(plate, number, id, picture) {
  const item = document.getElementById("plate").content.firstElementChild.cloneNode(true);
  const put = (where, text) => (item.querySelector(where).textContent = text);
  item.id = id;
  item.tabIndex = -1; // the label on the picture leads here
  put("h4", say("plate", { number }));
  put(".text", plate.text || say("unread"));
  item.querySelector(".text").classList.toggle("unread", !plate.text);
  if (plate.format.startsWith("ru_")) {
    item.querySelector(".native").hidden = false;
    put(".native span", `${say("cyrillic")}:`);
    put(".native b", [...plate.text].map((letter) => CYRILLIC[letter] ?? letter).join(""));
  }
  const canvas = item.querySelector("canvas");
  if (picture) straighten(canvas, picture, plate.corners);
  else canvas.remove();
  canvas.ariaLabel = say("crop", { number });
  showFacts(item.querySelector(".facts"), plate);
  put(".characters-heading", say("characters"));
  item.querySelector(".characters").append(...[...plate.raw_text].map((letter, index) => character(letter, plate.character_scores[index])));
  put(".candidates-heading", say("candidates"));
  item.querySelector(".candidates").append(...plate.candidates.map((one) => scored(one.text, one.score)));
  item.querySelector(".others").hidden = plate.candidates.length === 0;
  return item;
}

function showFacts(list, plate) {
  const facts = [
    [say("region"), plate.region && `${plate.region.name} (${plate.region.code})`],
    [say("format"), plate.format],
    [say("sureness"), percent(plate.text_score)],
    [say("detection"), percent(plate.detection_score)],
  ];
  list.append(...facts.filter(([, value]) => value).map(([name, value]) => pair(name, value)));
}

function character(letter, score) {
  const item = scored(letter, score);
  item.classList.toggle("unsure", score < SURE);
  return item;
}

function scored(text, score) {
  const item = element("li");
  item.append(element("b", text), " ", element("span", percent(score)));
  return item;
}

// A plate's corners are a parallelogram, so three of them say where each pixel of the crop lies.
function straighten(canvas, picture, [[x0, y0], [x1, y1], , [x3, y3]]) {
  const across = Math.hypot(x1 - x0, y1 - y0);
  const down = Math.hypot(x3 - x0, y3 - y0);
  const width = (canvas.width = 480);
  const height = (canvas.height = Math.max(1, Math.round((width * down) / Math.max(across, 1))));
  const toPicture = new DOMMatrix([(x1 - x0) / width, (y1 - y0) / width, (x3 - x0) / height, (y3 - y0) / height, x0, y0]);
  const context = canvas.getContext("2d");
  context.setTransform(toPicture.inverse());
  context.drawImage(picture, 0, 0);
}
