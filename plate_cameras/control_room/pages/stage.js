// The still on which areas are drawn. The pointer and the keyboard can do the same.

import { LEAST, MOST, shapeOf, sideLabels } from "./drafts.js";
import { element, find, say } from "../page/words.js";

const STEP = 0.01; // of the picture, for one press of an arrow key
const FINE = 0.002; // with Shift
const NEAR_PX = 14; // a click so close to the first point ends the drawing
const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

const within = (value) => Math.min(1, Math.max(0, value));

export class Stage {
  #on;
  #drafts = [];
  #drawn; // the draft that is being drawn
  #aim = [0.5, 0.5]; // where the next point comes

  // `on` has `change()`, `choose()` and `tell(text)`.
  constructor(on) {
    this.#on = on;
    const box = find("stage");
    box.addEventListener("pointerdown", (event) => this.#press(event));
    box.addEventListener("pointermove", (event) => this.#hover(event));
    box.addEventListener("dblclick", () => this.#drawn && this.#finish());
    box.addEventListener("keydown", (event) => this.#key(event));
  }

  get isDrawing() {
    return Boolean(this.#drawn);
  }

  show(drafts) {
    this.#drafts = drafts;
    this.#drawn = undefined;
    this.select(drafts[0]);
    this.#on.tell("");
  }

  select(draft) {
    this.chosen = draft;
    this.#redraw();
    this.#on.choose();
  }

  draw(draft) {
    this.#drawn = draft;
    this.chosen = draft;
    this.#aim = [0.5, 0.5];
    find("stage").focus();
    this.#redraw();
    this.#on.tell(say(`draw_${draft.kind}`));
  }

  cancel() {
    this.#drawn = undefined;
    this.select(this.#drafts[0]);
    this.#on.tell(say("drawing_cancelled"));
  }

  // The pointer

  #press(event) {
    if (event.button !== 0) return;
    const point = this.#pointOf(event);
    if (this.#drawn) return this.#place(point);
    const handle = event.target.closest(".handle");
    const shape = event.target.closest(".area");
    if (handle?.classList.contains("middle")) this.#insert(Number(handle.dataset.index), point);
    if (handle) this.#drag(event, this.chosen.points, [Number(handle.dataset.index)]);
    else if (shape) this.#dragShape(event, this.#drafts[Number(shape.dataset.index)]);
  }

  #dragShape(event, draft) {
    this.select(draft);
    this.#drag(event, draft.points, [...draft.points.keys()]);
  }

  #drag(event, points, indexes) {
    event.preventDefault();
    const box = find("stage");
    let before = this.#pointOf(event);
    const move = (moved) => {
      const now = this.#pointOf(moved);
      this.#shift(points, indexes, [now[0] - before[0], now[1] - before[1]]);
      before = now;
    };
    const end = () => {
      for (const [name, listener] of [["pointermove", move], ["pointerup", end], ["pointercancel", end]]) box.removeEventListener(name, listener);
      if (indexes.length === 1) this.#focusHandle(indexes[0]);
    };
    for (const [name, listener] of [["pointermove", move], ["pointerup", end], ["pointercancel", end]]) box.addEventListener(name, listener);
    box.setPointerCapture(event.pointerId);
  }

  #hover(event) {
    if (!this.#drawn) return;
    this.#aim = this.#pointOf(event);
    this.#redraw();
  }

  #pointOf({ clientX, clientY }) {
    const { left, top, width, height } = find("stage").getBoundingClientRect();
    return [within((clientX - left) / width), within((clientY - top) / height)];
  }

  // The keyboard

  #key(event) {
    const handle = event.target.closest(".handle:not(.middle)");
    if (handle) return this.#keyOfHandle(event, Number(handle.dataset.index));
    if (!this.#drawn) return undefined;
    const step = MOVES[event.key];
    if (step) this.#moveAim(step, event.shiftKey ? FINE : STEP);
    else if (event.key === " ") this.#place([...this.#aim]);
    else if (event.key === "Enter") this.#finish();
    else if (event.key === "Backspace") this.#drawn.points.pop();
    else if (event.key === "Escape") this.cancel();
    else return undefined;
    event.preventDefault();
    event.stopPropagation();
    if (this.#drawn) this.#redraw();
    return undefined;
  }

  #moveAim([x, y], step) {
    this.#aim = [within(this.#aim[0] + x * step), within(this.#aim[1] + y * step)];
    this.#on.tell(say("aim_at", { x: Math.round(100 * this.#aim[0]), y: Math.round(100 * this.#aim[1]) }));
  }

  #keyOfHandle(event, index) {
    const { kind, points } = this.chosen;
    const step = MOVES[event.key];
    const size = event.shiftKey ? FINE : STEP;
    if (step) this.#shift(points, [index], [step[0] * size, step[1] * size]);
    else if (event.key === "Insert" || event.key === "+") this.#insertAfter(index);
    else if (event.key === "Delete" || event.key === "Backspace") this.#removePoint(kind, points, index);
    else return;
    event.preventDefault();
  }

  #insertAfter(index) {
    const { kind, points } = this.chosen;
    if (points.length >= MOST[kind]) return this.#on.tell(say("points_most", { count: MOST[kind] }));
    const [[x0, y0], [x1, y1]] = [points[index], points[(index + 1) % points.length]];
    this.#insert(index + 1, [(x0 + x1) / 2, (y0 + y1) / 2]);
    return this.#focusHandle(index + 1);
  }

  #removePoint(kind, points, index) {
    if (points.length <= LEAST[kind]) return this.#on.tell(say("points_wanted", { name: this.chosen.name, count: LEAST[kind] }));
    points.splice(index, 1);
    this.#changed();
    return this.#focusHandle(Math.min(index, points.length - 1));
  }

  #focusHandle(index) {
    find("handles").querySelector(`.handle:not(.middle)[data-index="${index}"]`)?.focus();
  }

  // Points

  #place(point) {
    const { kind, points } = this.#drawn;
    const { width, height } = find("stage").getBoundingClientRect();
    const isNear = (other) => other && Math.hypot((other[0] - point[0]) * width, (other[1] - point[1]) * height) < NEAR_PX;
    if (points.length >= LEAST[kind] && isNear(points[0])) return this.#finish();
    if (isNear(points.at(-1))) return undefined; // the second press of a double click
    points.push(point);
    if (points.length === MOST[kind]) return this.#finish();
    this.#on.tell(say("points_so_far", { count: points.length }));
    return this.#redraw();
  }

  #finish() {
    const draft = this.#drawn;
    if (draft.points.length < LEAST[draft.kind]) return this.#on.tell(say("points_wanted", { name: draft.name, count: LEAST[draft.kind] }));
    this.#drawn = undefined;
    this.#drafts.push(draft);
    this.chosen = draft;
    this.#changed();
    this.#on.tell(say("drawn", { name: draft.name }));
    return this.#focusHandle(0);
  }

  // Moves points together, none of them out of the picture.
  #shift(points, indexes, [x, y]) {
    const moved = indexes.map((index) => points[index]);
    const fit = (axis, by) => Math.min(1 - Math.max(...moved.map((one) => one[axis])), Math.max(-Math.min(...moved.map((one) => one[axis])), by));
    const [right, down] = [fit(0, x), fit(1, y)];
    for (const point of moved) {
      point[0] += right;
      point[1] += down;
    }
    this.#changed();
  }

  #insert(index, point) {
    this.chosen.points.splice(index, 0, point);
    this.#changed();
  }

  #changed() {
    this.#redraw();
    this.#on.change();
  }

  // The drawing

  #redraw() {
    const shapes = this.#drafts.map((draft, index) => {
      const shape = shapeOf(draft, draft === this.chosen);
      shape.dataset.index = index;
      return shape;
    });
    if (this.#drawn) shapes.push(shapeOf({ ...this.#drawn, points: [...this.#drawn.points, this.#aim] }, true));
    find("stage-svg").replaceChildren(...shapes);
    find("stage").classList.toggle("drawing", this.isDrawing);
    this.#drawHandles();
  }

  // Handles are kept while their number stays, so that they keep the focus.
  #drawHandles() {
    const wanted = this.#handles();
    const shown = [...find("handles").children];
    const isSame = wanted.length === shown.length && wanted.every(({ name }, index) => shown[index].className === name);
    if (!isSame) find("handles").replaceChildren(...wanted.map(makeHandle));
    wanted.forEach((handle, index) => putHandle(find("handles").children[index], handle));
    for (const old of find("stage").querySelectorAll(".side-label")) old.remove();
    if (this.chosen?.kind === "line" && this.chosen.points.length === 2) find("stage").append(...sideLabels(this.chosen, find("stage").getBoundingClientRect()));
  }

  #handles() {
    if (this.#drawn) return [...this.#drawn.points.map((point) => ({ name: "handle placed", point })), { name: "aim", point: this.#aim }];
    if (!this.chosen) return [];
    const { kind, name, points } = this.chosen;
    const corners = points.map((point, index) => ({ name: "handle", point, index, told: say("point_told", { name, number: index + 1, count: points.length, x: Math.round(100 * point[0]), y: Math.round(100 * point[1]) }) }));
    if (points.length >= MOST[kind]) return corners;
    const middles = points.map(([x, y], index) => {
      const [x1, y1] = points[(index + 1) % points.length];
      return { name: "handle middle", point: [(x + x1) / 2, (y + y1) / 2], index: index + 1 };
    });
    return [...corners, ...middles];
  }
}

// Corners are buttons; the rest is for the pointer alone.
function makeHandle({ name, told }) {
  const made = element(told ? "button" : "span", "", name);
  if (told) made.type = "button";
  else made.ariaHidden = "true";
  return made;
}

function putHandle(shown, { point: [x, y], index, told }) {
  shown.style.left = `${100 * x}%`;
  shown.style.top = `${100 * y}%`;
  if (index !== undefined) shown.dataset.index = index;
  if (told) shown.ariaLabel = told;
}
