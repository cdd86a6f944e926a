// The editor of a camera's zones, lines and masks.

import { put, remove } from "./api.js";
import { fetchPicture } from "./camera_cards.js";
import { confirm } from "./dialogs.js";
import { fromDrafts, newName, problemOf, toDrafts } from "./drafts.js";
import { Stage } from "./stage.js";
import { element, find, say, tellProblem } from "../page/words.js";

let camera;
let drafts = [];
let stage;
let isChanged = false;
let close = () => {};

// Shows the editor. Returns the camera as it was saved; undefined where nothing was.
export async function openEditor(given) {
  camera = given;
  const still = camera.still && (await fetchPicture(camera.still).catch(() => undefined));
  find("stage-still").src = still?.src ?? "";
  find("stage").classList.toggle("blank", !still);
  drafts = toDrafts(camera);
  isChanged = false;
  stage ??= connect();
  find("editor-title").textContent = say("areas_of", { camera: camera.name });
  find("editor-reset").hidden = camera.areas_from !== "page";
  showProblem("");
  find("editor").showModal();
  stage.show(drafts);
  return new Promise((resolve) => {
    close = (saved) => {
      close = () => {};
      find("editor").close();
      URL.revokeObjectURL(find("stage-still").src);
      resolve(saved);
    };
  });
}

function connect() {
  const dialog = find("editor");
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    if (stage.isDrawing) stage.cancel();
    else leave();
  });
  dialog.addEventListener("close", () => close()); // some browsers let the second Escape pass
  find("editor-close").addEventListener("click", leave);
  find("editor-save").addEventListener("click", save);
  find("editor-reset").addEventListener("click", reset);
  for (const kind of ["zone", "line", "mask"]) find(`add-${kind}`).addEventListener("click", () => draw(kind));
  return new Stage({ change: changed, choose: showDrafts, tell: (text) => (find("editor-told").textContent = text) });
}

function draw(kind) {
  stage.draw({ kind, name: newName(drafts, kind), points: [] });
}

function changed() {
  isChanged = true;
  showProblem("");
  showDrafts();
}

async function leave() {
  if (isChanged && !(await confirm(say("unsaved"), say("unsaved_told"), say("drop_changes")))) return;
  close();
}

async function save() {
  const wrong = problemOf(drafts);
  if (wrong) return showProblem(wrong);
  find("editor-save").disabled = true;
  try {
    close(await put(`v1/cameras/${encodeURIComponent(camera.name)}/areas`, fromDrafts(drafts)));
  } catch (problem) {
    showProblem(tellProblem(problem.message, problem.detail));
  }
  find("editor-save").disabled = false;
}

async function reset() {
  if (!(await confirm(say("back_to_file"), say("back_to_file_told"), say("back_to_file")))) return;
  try {
    const response = await remove(`v1/cameras/${encodeURIComponent(camera.name)}/areas`);
    close(response.status === 204 ? undefined : await response.json());
  } catch (problem) {
    showProblem(tellProblem(problem.message, problem.detail));
  }
}

function showProblem(text) {
  find("editor-problem").textContent = text;
  find("editor-problem").hidden = !text;
}

// The list of areas. A name that is being typed keeps its field.
function showDrafts() {
  find("no-drafts").hidden = drafts.length > 0;
  const rows = [...find("drafts").children];
  const isSame = rows.length === drafts.length && rows.every((row, index) => row.draft === drafts[index]);
  if (!isSame) find("drafts").replaceChildren(...drafts.map(rowOf));
  for (const row of find("drafts").children) row.classList.toggle("chosen", row.draft === stage.chosen);
}

function rowOf(draft) {
  const row = element("li", "", draft.kind);
  row.draft = draft;
  const name = Object.assign(element("input"), { value: draft.name, maxLength: 100, ariaLabel: say(`name_of_${draft.kind}`), autocomplete: "off" });
  name.addEventListener("input", () => {
    draft.name = name.value;
    changed();
  });
  name.addEventListener("focus", () => stage.select(draft));
  const drop = Object.assign(element("button", say("remove"), "quiet"), { type: "button", ariaLabel: `${say("remove")}: ${draft.name}` });
  drop.addEventListener("click", () => {
    drafts.splice(drafts.indexOf(draft), 1);
    stage.select(undefined);
    changed();
    find("stage").focus();
  });
  row.append(element("span", say(draft.kind), "kind"), name, ...(draft.kind === "line" ? [turnButton(draft)] : []), drop);
  return row;
}

function turnButton(draft) {
  const turn = Object.assign(element("button", "⇄", "quiet"), { type: "button", ariaLabel: say("turn_line"), title: say("turn_line") });
  turn.addEventListener("click", () => {
    draft.points.reverse();
    stage.select(draft);
    changed();
  });
  return turn;
}
