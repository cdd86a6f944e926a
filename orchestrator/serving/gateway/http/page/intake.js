// Makes files fit for the service: refuses what is no picture, makes large pictures smaller.

import { say, words } from "./words.js";

const TAKEN = ["image/jpeg", "image/png", "image/webp", "image/bmp", "image/x-ms-bmp"];
const QUALITY = 0.92;
const STEP = 0.7; // factor on both sides while the file is still too large
const MIN_PX = 64;

// Returns a file that the service takes, with a note where it was changed, or a problem.
export async function prepare(file) {
  const kind = kindOf(file);
  if (kind === "pdf" || kind === "other") return { problem: { reason: `wanted_${kind}` } };
  if (kind === "foreign" || kind === "heic") {
    const changed = await redraw(file);
    return changed ? { file: changed.file, note: say("converted") } : { problem: { reason: kind === "heic" ? "wanted_heic" : "wanted_other" } };
  }
  return shrinkIfLarge(file);
}

function kindOf({ name = "", type }) {
  const ending = name.toLowerCase().split(".").at(-1);
  if (type === "application/pdf" || (!type && ending === "pdf")) return "pdf";
  if (/^image\/hei[cf]/.test(type) || ["heic", "heif"].includes(ending)) return "heic";
  if (TAKEN.includes(type) || !type) return "picture"; // the server looks at the bytes
  return type.startsWith("image/") ? "foreign" : "other";
}

async function shrinkIfLarge(file) {
  const size = await sizeOf(file);
  const isLarge = file.size > words.limits.bytes || (size && size.width * size.height > words.limits.pixels);
  if (!isLarge) return { file };
  const changed = await redraw(file);
  if (!changed) return { file }; // the server says why it cannot be used
  const { from, to } = changed;
  return { file: changed.file, note: say("smaller", { from: `${from.width} × ${from.height}`, to: `${to.width} × ${to.height}` }) };
}

function sizeOf(file) {
  const picture = new Image();
  picture.src = URL.createObjectURL(file);
  const size = new Promise((resolve) => {
    picture.onload = () => resolve({ width: picture.naturalWidth, height: picture.naturalHeight });
    picture.onerror = () => resolve(undefined); // the browser cannot show it; perhaps the server can
  });
  return size.finally(() => URL.revokeObjectURL(picture.src));
}

// Draws a picture again as JPEG, as small as the limits want; undefined where the browser cannot.
async function redraw(file) {
  try {
    const drawn = await createImageBitmap(file);
    const from = { width: drawn.width, height: drawn.height };
    let scale = Math.min(1, Math.sqrt(words.limits.pixels / (from.width * from.height)));
    for (;;) {
      const to = { width: Math.floor(from.width * scale), height: Math.floor(from.height * scale) };
      const smaller = await encode(drawn, to);
      if (smaller?.size <= words.limits.bytes) return { file: smaller, from, to };
      if (!smaller || Math.min(to.width, to.height) < MIN_PX) return undefined;
      scale *= STEP;
    }
  } catch {
    return undefined;
  }
}

function encode(drawn, { width, height }) {
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.fillStyle = "white"; // below what is transparent
  context.fillRect(0, 0, width, height);
  context.drawImage(drawn, 0, 0, width, height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", QUALITY));
}
