// A picture with the outlines of its plates, and the crops of them.

import { element, textOf } from "./words.js";

export function mark(stage, plate, number, item) {
  const picture = stage.querySelector("img");
  const outline = document.createElementNS("http://www.w3.org/2000/svg", "polygon");
  outline.setAttribute("points", plate.corners.map((corner) => corner.join()).join(" "));
  outline.classList.toggle("unread", !plate.text);
  stage.querySelector(".outlines").append(outline);
  const label = element("a", plate.text ? String(number) : "?", "label");
  label.classList.toggle("unread", !plate.text);
  if (plate.text) label.append(element("span", ` ${textOf(plate)}`));
  label.href = `#${item.id}`;
  label.style.left = `${(100 * (plate.xyxy[0] + plate.xyxy[2])) / 2 / picture.naturalWidth}%`;
  label.style.top = `${(100 * plate.xyxy[1]) / picture.naturalHeight}%`;
  label.addEventListener("click", () => openAround(item));
  stage.append(label);
  for (const [event, isLit] of [["mouseenter", true], ["mouseleave", false], ["focusin", true], ["focusout", false]]) {
    item.addEventListener(event, () => outline.classList.toggle("lit", isLit));
  }
}

function openAround(item) {
  const closed = item.closest("details:not([open])");
  if (closed) closed.open = true;
}

// A plate's corners are a parallelogram, so three of them say where each pixel of the crop lies.
export function straighten(canvas, picture, [[x0, y0], [x1, y1], , [x3, y3]]) {
  const across = Math.hypot(x1 - x0, y1 - y0);
  const down = Math.hypot(x3 - x0, y3 - y0);
  const width = (canvas.width = 480);
  const height = (canvas.height = Math.max(1, Math.round((width * down) / Math.max(across, 1))));
  const toPicture = new DOMMatrix([(x1 - x0) / width, (y1 - y0) / width, (x3 - x0) / height, (y3 - y0) / height, x0, y0]);
  const context = canvas.getContext("2d");
  context.setTransform(toPicture.inverse());
  context.drawImage(picture, 0, 0);
}

// A small picture that fills its canvas, cut at the sides that are too long.
export function makeThumbnail(picture, width = 144, height = 96) {
  const canvas = element("canvas", "", "thumbnail");
  Object.assign(canvas, { width, height, ariaHidden: "true" });
  const scale = Math.max(width / picture.naturalWidth, height / picture.naturalHeight);
  const size = [picture.naturalWidth * scale, picture.naturalHeight * scale];
  canvas.getContext("2d").drawImage(picture, (width - size[0]) / 2, (height - size[1]) / 2, ...size);
  return canvas;
}
