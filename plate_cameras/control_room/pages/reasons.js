// The reason that goes with searches and exports. It is asked for once, and kept until the tab closes.

import { askFor } from "./dialogs.js";
import { find, say } from "../page/words.js";

const KEY = "plates.reason";

export const reasonOf = () => sessionStorage.getItem(KEY) ?? "";

// Tells whether the server rejected a request because it wants a reason.
export function isWanted({ status, reason, detail = "" }) {
  return (status === 400 || status === 403) && (reason === "reason" || detail.startsWith("reason:"));
}

export function headerOf() {
  const reason = reasonOf();
  return reason ? { "x-reason": toHeader(reason) } : {};
}

// A header is made of bytes: those of UTF-8 here, each as the character of its number.
export function toHeader(reason) {
  return String.fromCharCode(...new TextEncoder().encode(reason));
}

export function forgetReason() {
  sessionStorage.removeItem(KEY);
}

let asking; // several requests at once need one dialog

// Asks for the reason. Returns it; undefined where the reader gives none.
export function wantReason() {
  asking ??= ask().finally(() => (asking = undefined));
  return asking;
}

async function ask() {
  const field = { name: "reason", label: say("reason"), value: reasonOf(), required: true, hint: say("reason_hint") };
  const given = await askFor({ title: say("reason_title"), told: say("reason_why"), fields: [field], yes: say("go_on") });
  if (!given) return undefined;
  sessionStorage.setItem(KEY, given.reason.trim());
  showReason();
  return given.reason;
}

export function showReason() {
  const button = find("reason");
  if (!button) return;
  button.hidden = !reasonOf();
  button.textContent = say("reason_is", { reason: reasonOf() });
  button.title = say("reason_change");
}

export function dropReason() {
  forgetReason();
  showReason();
}
