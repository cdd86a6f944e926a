// One plate: how it looks, what it says, and behind "Details" everything that the server says of it.

import { copyButton } from "./copies.js";
import { drawPlate } from "./drawing.js";
import { straighten } from "./stage.js";
import { clone, element, formatOf, pair, percent, regionOf, say, spellingsOf, textOf } from "./words.js";

const CERTAIN = 0.995; // scores from here on read 100 %
const MIN_SCORE = 0.01; // candidates below are noise

// Returns a plate that was read; `picture` is false where the browser cannot draw it.
export function describe(plate, number, id, picture) {
  const item = clone("plate");
  const put = (where, text) => (item.querySelector(where).textContent = text);
  item.id = id;
  put("h4", say("plate", { number }));
  item.querySelector(".hero").append(drawPlate(plate.text, plate.format, textOf(plate)), copyButton(textOf(plate)));
  showSpellings(item.querySelector(".spellings"), spellingsOf(plate));
  item.querySelector(".about").append(...aboutOf(plate));
  put(".more summary", say("details"));
  drawCrop(item.querySelector("canvas"), plate, number, picture);
  showFacts(item.querySelector(".facts"), plate);
  showCharacters(item, plate);
  showCandidates(item, plate);
  return item;
}

// Returns a plate that was found and not read.
export function describeUnread(plate, number, id, picture) {
  const item = clone("unread-plate");
  item.id = id;
  drawCrop(item.querySelector("canvas"), plate, number, picture);
  item.querySelector(".told").textContent = say("unread");
  item.querySelector(".position").textContent = positionOf(plate);
  const guess = item.querySelector(".guess");
  guess.hidden = !plate.raw_text || plate.text_score < MIN_SCORE;
  guess.textContent = say("guess", { text: plate.raw_text, percent: percent(plate.text_score) });
  return item;
}

function showSpellings(box, [first, second]) {
  box.append(spelling(first, "text"));
  if (second) box.append(spelling(second, "native"));
}

function spelling({ text, lang, name }, kind) {
  const line = element("p", "", "spelling");
  const told = element("b", text, kind);
  told.lang = lang;
  line.append(element("span", name, "faint"), " ", told);
  if (kind === "native") line.append(" ", copyButton(text, "quiet"));
  return line;
}

function aboutOf(plate) {
  const told = [regionOf(plate), formatOf(plate), say("sure", { percent: percent(plate.text_score) })];
  return told.filter(Boolean).map((text) => element("li", text));
}

function positionOf({ xyxy: [x0, y0, x1, y1] }) {
  const [x, y, width, height] = [x0, y0, x1 - x0, y1 - y0].map(Math.round);
  return say("position", { x, y, width, height });
}

function drawCrop(canvas, plate, number, picture) {
  if (picture) straighten(canvas, picture, plate.corners);
  else canvas.remove();
  canvas.ariaLabel = say("crop", { number });
}

function showFacts(list, plate) {
  const facts = [
    [say("region"), plate.region && `${regionOf(plate)} (${plate.region.code})`],
    [say("format"), plate.format],
    [say("sureness"), percent(plate.text_score)],
    [say("detection"), percent(plate.detection_score)],
    [say("place"), positionOf(plate)],
  ];
  list.append(...facts.filter(([, value]) => value).map(([name, value]) => pair(name, value)));
}

function showCharacters(item, plate) {
  const characters = [...plate.raw_text].map((letter, index) => [letter, plate.character_scores[index]]);
  const unsure = characters.filter(([, score]) => score < CERTAIN);
  item.querySelector(".characters-heading").textContent = say("characters");
  item.querySelector(".characters").append(...unsure.map(([letter, score]) => scored(letter, score)));
  item.querySelector(".others-certain").textContent = say(unsure.length ? "others_certain" : "all_certain");
}

function showCandidates(item, plate) {
  const others = plate.candidates.filter((one) => one.score >= MIN_SCORE && one.text !== plate.text);
  item.querySelector(".candidates-heading").textContent = say("candidates");
  item.querySelector(".candidates").append(...others.map((one) => scored(one.text, one.score)));
  item.querySelector(".others").hidden = others.length === 0;
}

function scored(text, score) {
  const item = element("li");
  item.append(element("b", text), " ", element("span", percent(score)));
  return item;
}
