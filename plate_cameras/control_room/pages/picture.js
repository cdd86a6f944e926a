// The pictures of a pass: the vehicle with its plate outlined, why parts are blurred, large, and as a file.

import { address } from "./api.js";
import { svg } from "./drafts.js";
import { icon, nameOf } from "./passes.js";
import { element, find, say } from "../page/words.js";

export function showSight(pass) {
  const box = find("sight");
  const alt = say("crop_of", { text: nameOf(pass) });
  if (pass.frame) {
    const told = say(pass.best.part ? "vehicle_of" : "frame_of", { text: nameOf(pass), camera: pass.camera });
    box.append(largeOn(frameOf(pass, told), pass, told));
    if (`blurred_${pass.best.blur}` in BLURRED) box.append(element("p", BLURRED[`blurred_${pass.best.blur}`], "faint hint"));
  }
  if (pass.crop && !pass.frame) box.append(largeOn(pictureOf(pass.crop, alt, "crop-large"), pass, alt));
  else if (pass.crop) box.append(pictureOf(pass.crop, alt, "crop-small"));
  if (!pass.frame && !pass.crop) box.append(element("p", say("no_picture"), "empty"));
  else box.append(savings(pass));
}

const BLURRED = { blurred_surroundings: say("blurred_surroundings"), blurred_plates: say("blurred_plates") };
const partOf = ({ part, width, height }) => part ?? [0, 0, width, height];
const pathOf = (path) => address(path.replace(/^\//, ""));

function pictureOf(path, alt, name) {
  return Object.assign(element("img", "", name), { src: pathOf(path), alt });
}

// The outline is that of the plate, in pixels of the whole frame.
function frameOf({ frame, best }, alt) {
  const stage = element("span", "", "frame");
  const [left, top, right, bottom] = partOf(best);
  const outline = svg("svg", { viewBox: `${left} ${top} ${right - left} ${bottom - top}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const [x0, y0, x1, y1] = best.xyxy;
  outline.append(svg("rect", { x: x0, y: y0, width: x1 - x0, height: y1 - y0, rx: 3 }));
  stage.append(pictureOf(frame, alt, ""), outline);
  return stage;
}

// A picture that is shown large when it is clicked.
function largeOn(shown, pass, told) {
  const button = Object.assign(element("button", "", "enlarge"), { type: "button" });
  button.title = say("enlarge");
  button.append(shown);
  button.addEventListener("click", () => enlarge(pass, told));
  return button;
}

function enlarge(pass, told) {
  const dialog = element("dialog", "", "large");
  dialog.ariaLabel = told;
  const close = Object.assign(element("button", say("close")), { type: "button" });
  close.addEventListener("click", () => dialog.close());
  const row = element("div", "", "row end");
  row.append(...savings(pass).children, close);
  const shown = pass.frame ? frameOf(pass, told) : pictureOf(pass.crop, told, "");
  const [left, top, right, bottom] = partOf(pass.best);
  if (pass.frame) shown.style.setProperty("--ratio", (right - left) / (bottom - top)); // as large as the window allows
  dialog.append(shown, row);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close()); // the ground
  document.body.append(dialog);
  dialog.showModal();
}

function savings(pass) {
  const row = element("div", "", "row");
  const when = pass.first_seen.slice(0, 19).replaceAll(":", "-");
  for (const [kind, path] of [["frame", pass.frame], ["crop", pass.crop]]) {
    if (!path) continue;
    const link = element("a", "", "button small");
    Object.assign(link, { href: pathOf(path), download: `${pass.text || "plate"}-${when}-${kind}.jpg` });
    link.append(icon("save"), say(kind === "crop" ? "save_crop" : pass.best.part ? "save_vehicle" : "save_frame"));
    row.append(link);
  }
  return row;
}
