// Draws a plate as SVG; all measures are millimetres (GOST R 50577-2018).

import { glyphOf, isDigit } from "./glyphs.js";
import { designOf } from "./designs.js";

const LETTER = 58 / 76; // height of a letter beside a digit
const LONG = [520, 112];
const SQUARE = [290, 170];

export function drawPlate(text, format, label = text) {
  const design = designOf(text, format);
  const isLong = design.lines.length === 1;
  const [width, height] = isLong ? LONG : SQUARE;
  const face = svg("svg", { class: `face paper-${design.paper}${isLong ? "" : " square"}`, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  face.append(svg("rect", { class: "edge", width, height, rx: 13 }), svg("rect", { class: "field", x: 3, y: 3, width: width - 6, height: height - 6, rx: 10 }));
  face.append(...(isLong ? drawLong(design) : drawSquare(design)));
  face.append(svg("rect", { class: "line", x: 7, y: 7, width: width - 14, height: height - 14, rx: 8 }));
  return face;
}

function drawLong({ lines: [number], code, country, codePaper, flag }) {
  const bolts = [22, 498].map((cx) => svg("circle", { class: "bolt", cx, cy: 56, r: 4.5 }));
  if (!code) return [...drawRow(number, { left: 40, right: 480, bottom: 94, tall: 76 }), ...bolts];
  const border = code.length > 2 ? 352 : 385;
  const middle = (border + 488) / 2;
  return [
    ...(codePaper ? [svg("rect", { class: `paper-${codePaper} field`, x: border, y: 7, width: 513 - border, height: 98, rx: 8 })] : []),
    ...drawRow(number, { left: 36, right: border - 10, bottom: 94, tall: 76 }),
    ...drawCode(code, middle, 70, 58),
    ...drawCountry(country, middle, 98, 20, flag),
    svg("path", { class: "line", d: `M${border} 7V105` }),
    ...bolts,
  ];
}

function drawSquare({ lines: [above, below], code, country, flag }) {
  const [width, height] = SQUARE;
  const tall = 68;
  const first = drawRow(above, { left: 16, right: width - 16, bottom: 81, tall });
  if (!code) return [...first, ...drawRow(below, { left: 16, right: width - 16, bottom: 155, tall })];
  const border = (code.length > 2 ? 0.46 : 0.54) * width;
  const middle = (border + width - 8) / 2;
  return [
    ...first,
    ...drawRow(below, { left: 16, right: border - 8, bottom: 153, tall }),
    ...drawCode(code, middle, 136, 43),
    ...drawCountry(country, middle, 157, 14, flag),
    svg("path", { class: "line", d: `M${border} ${height - 7}V91H${width - 7}` }),
  ];
}

// Digits and letters on one baseline, in the middle of the room of the line.
function drawRow(text, { left, right, bottom, tall }) {
  const scale = tall / 76;
  const pitch = [...text].map((one) => (isDigit(one) ? 54 : 50) * scale);
  const gaps = [...text].map((one, index) => (index && isDigit(one) !== isDigit(text[index - 1]) ? 8 * scale : 0));
  const needed = [...pitch, ...gaps].reduce((sum, one) => sum + one, 0);
  const factor = Math.min(1.08, (right - left) / needed);
  let x = left + (right - left - needed * factor) / 2;
  return [...text].map((one, index) => {
    const room = pitch[index] * factor;
    x += gaps[index] * factor + room;
    return drawCharacter(one, x - room / 2, bottom, isDigit(one) ? tall : tall * LETTER, 0.97 * room);
  });
}

function drawCode(code, middle, bottom, tall) {
  const widths = [...code].map((one) => (((glyphOf(one)?.width ?? 60) + 10) * tall) / 100);
  let x = middle - widths.reduce((sum, one) => sum + one, 0) / 2;
  return [...code].map((one, index) => {
    x += widths[index];
    return drawCharacter(one, x - widths[index] / 2, bottom, tall, widths[index]);
  });
}

function drawCountry(country, middle, bottom, tall, flag) {
  const pitch = 0.9 * tall;
  const wide = flag ? 1.9 * tall : 0;
  const left = middle - (country.length * pitch + wide) / 2;
  const letters = [...country].map((one, index) => drawCharacter(one, left + pitch * (index + 0.5), bottom, tall, pitch));
  if (!flag) return letters;
  const at = { x: left + country.length * pitch + 0.2 * tall, width: 1.7 * tall, height: tall / 3 };
  const stripes = ["white", "blue", "red"].map((colour, index) => svg("rect", { class: `flag-${colour}`, ...at, y: bottom - tall + (tall * index) / 3 }));
  return [...letters, ...stripes];
}

function drawCharacter(character, middle, bottom, tall, room) {
  const glyph = glyphOf(character);
  if (!glyph) {
    const other = svg("text", { class: "other", x: middle, y: bottom, "font-size": tall * 1.35, "text-anchor": "middle" });
    other.textContent = character;
    return other;
  }
  const width = Math.min(room, (glyph.width * tall) / 100);
  const box = svg("svg", { x: middle - width / 2, y: bottom - tall, width, height: tall, viewBox: `0 0 ${glyph.width} 100`, preserveAspectRatio: "none" });
  box.append(svg("path", { class: "stroke", d: glyph.path, "stroke-width": glyph.pen }));
  return box;
}

function svg(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}
