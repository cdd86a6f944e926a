// The guard's work: a gate is opened now, and a plate goes on a list, from wherever its vehicle is shown.

import { get, getAll, send } from "./api.js";
import { askFor } from "./dialogs.js";
import { tell } from "./header.js";
import { outcomeTold } from "./openings.js";
import { icon, nameOf } from "./passes.js";
import { may } from "./session.js";
import { toDayBound } from "./times.js";
import { announce, element, say } from "../page/words.js";

const ASK_EVERY_MS = 500;
const WAIT_MS = 40_000; // by then each command has its outcome
const MAX_REASON = 500;

export const gates = (await getAll("v1/gates", "gates").catch(() => [])) ?? [];

// The buttons for a pass; none for readers who may not use them. `opened` takes each opening.
export function actionsFor(pass, opened = () => {}) {
  if (!may("editor")) return [];
  const own = gates.filter(({ cameras }) => cameras.includes(pass.camera));
  const opening = pass.clock === "file" ? [] : own.map(({ name }) => buttonTo(own.length > 1 ? say("open_named", { gate: name }) : say("open_now"), () => openGate(name, pass, opened), "main"));
  if (!pass.text) return opening;
  const blocked = [...new Set(gates.flatMap((gate) => gate.blocked_lists))];
  const block = blocked.length ? [buttonTo(say("block"), () => putOnList(pass, blocked), "danger")] : [];
  return [...opening, buttonTo(say("add_to_list"), () => putOnList(pass)), ...block];
}

// One button for a row, whose dialog has all actions. `more` returns further buttons.
export function actionsButton(pass, opened, more = () => []) {
  if (!may("editor") || !(pass.text || gates.some(({ cameras }) => cameras.includes(pass.camera)))) return [];
  const button = buttonTo("", () => showActions(pass, opened, more), "quiet act");
  button.append(icon("more"));
  button.ariaLabel = say("actions_for", { text: nameOf(pass) });
  button.title = say("actions");
  return [button];
}

function showActions(pass, opened, more) {
  const dialog = element("dialog", "", "ask actions");
  const title = say("actions_for", { text: nameOf(pass) });
  const close = buttonTo(say("cancel"), () => dialog.close(), "");
  dialog.ariaLabel = title;
  const choices = [...more(), ...actionsFor(pass, opened)];
  for (const one of choices) {
    one.classList.remove("small");
    one.addEventListener("click", () => dialog.close());
  }
  dialog.append(element("h2", title), ...choices, close);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

export function buttonTo(label, act, name) {
  const button = Object.assign(element("button", label, `small ${name}`), { type: "button" });
  button.addEventListener("click", () => Promise.resolve(act()).catch(tell));
  return button;
}

export async function openGate(gate, pass, opened = () => {}) {
  const fields = [{ name: "why", label: say("reason"), required: true, maxLength: MAX_REASON, hint: say("open_reason_hint"), autocomplete: "off" }];
  const told = pass ? say("open_for", { text: nameOf(pass) }) : "";
  await askFor({
    title: say("open_title", { gate }),
    told,
    fields,
    yes: say("open_now"),
    check: async ({ why }) => {
      const opening = await command(gate, pass, why.trim());
      opened(opening);
      if (opening.outcome !== "opened") throw new Error(outcomeTold(opening));
      announce(outcomeTold(opening));
    },
  });
}

async function command(gate, pass, why) {
  const body = JSON.stringify({ pass_id: pass?.id ?? "" });
  const path = `v1/gates/${encodeURIComponent(gate)}/openings`;
  let opening;
  try {
    opening = await (await send("POST", path, { body, kind: "application/json", why })).json();
  } catch (problem) {
    throw problem.status === 409 ? new Error(say("open_waits")) : problem;
  }
  const ends = performance.now() + WAIT_MS;
  while (performance.now() < ends && isUnsettled(opening)) {
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
    opening = await get(`v1/gates/openings/${opening.id}`);
  }
  return opening;
}

const isUnsettled = ({ outcome, reason_code: code }) => outcome === "requested" || code === "begun";

async function putOnList(pass, only) {
  const names = only ?? (await getAll("v1/lists", "lists")).map(({ name }) => name);
  if (!names.length) throw new Error(say("no_lists_yet"));
  const fields = [
    { name: "list", label: say("list"), choices: names.map((name) => [name, effectOf(name)]) },
    { name: "note", label: say("note"), maxLength: 2000, autocomplete: "off" },
    { name: "until", label: say("valid_until"), kind: "date", hint: say("for_ever_hint") },
  ];
  await askFor({
    title: say(only ? "block_title" : "add_to_list_title", { text: nameOf(pass) }),
    told: only ? say("block_told") : "",
    fields,
    yes: say(only ? "block" : "save"),
    isDangerous: Boolean(only),
    check: async ({ list, note, until }) => {
      const entry = { note, valid_until: until ? toDayBound(until, true) : null, accept_doubtful: true }; // a camera has read it
      const path = `v1/lists/${encodeURIComponent(list)}/entries/${encodeURIComponent(pass.text)}`;
      await send("PUT", path, { body: JSON.stringify(entry), kind: "application/json" });
      announce(say("put_on_list", { text: nameOf(pass), list }));
    },
  });
}

// What a list does, beside its name.
function effectOf(name) {
  const named = (lists) => gates.filter((gate) => gate[lists].includes(name)).map((gate) => gate.name);
  const [opening, closed] = [named("lists"), named("blocked_lists")];
  if (closed.length) return say("list_blocks", { list: name, gates: closed.join(", ") });
  return opening.length ? say("list_opens", { list: name, gates: opening.join(", ") }) : name;
}
