// The header of every page: who is signed in, the reason, the language; and what a role may see.

import { signOut } from "./api.js";
import "./language.js";
import { changePassword } from "./own_password.js";
import { reasonOf, showReason, wantReason } from "./reasons.js";
import { may, session } from "./session.js";
import { find, notify, say, tellProblem } from "../page/words.js";

// Comes right before a page connects its buttons: none of them can be pressed in vain.
export function showHeader() {
  for (const place of document.querySelectorAll("[data-needs]")) place.hidden = !may(place.dataset.least ?? place.dataset.needs);
  for (const button of document.querySelectorAll("[data-waits]")) button.disabled = false;
  find("me").hidden = !session.name || session.via === "local";
  find("me").textContent = session.name;
  find("me").disabled = session.via !== "session"; // a key has no password
  find("me").title = session.via === "session" ? `${say(`role_${session.role}`)}: ${say("change_password")}` : say(`role_${session.role}`);
  find("me").addEventListener("click", () => changePassword(session.name).catch(tell));
  find("sign-out").hidden = session.via !== "session";
  find("sign-out").addEventListener("click", () => signOut().catch(tell));
  find("reason").addEventListener("click", async () => {
    if (await wantReason()) document.dispatchEvent(new CustomEvent("reason", { detail: reasonOf() }));
  });
  showReason();
  if (session.problem) tell(session.problem);
}

export function tell(problem) {
  notify(tellProblem(problem.message, problem.detail));
  if (!problem.status && problem.name !== "Error") console.warn(problem);
}
