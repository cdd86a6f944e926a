// Readers change their own passwords.

import { put, useCsrf } from "./api.js";
import { askFor } from "./dialogs.js";
import { announce, say } from "../page/words.js";

export const MIN_PASSWORD_CHARACTERS = 12;

export async function changePassword(name) {
  const secret = { kind: "password", required: true };
  const fresh = { ...secret, minLength: MIN_PASSWORD_CHARACTERS, autocomplete: "new-password" };
  const given = await askFor({
    title: say("change_password"),
    told: say("change_password_told"),
    fields: [
      { name: "user", label: say("name"), value: name, readOnly: true, autocomplete: "username" }, // password managers want it
      { name: "old", label: say("old_password"), autocomplete: "current-password", ...secret },
      { name: "password", label: say("new_password"), hint: say("password_hint", { count: MIN_PASSWORD_CHARACTERS }), ...fresh },
      { name: "again", label: say("password_again"), ...fresh },
    ],
    check,
  });
  if (given) announce(say("password_changed"));
}

async function check({ old, password, again }) {
  if (password !== again) throw new Error(say("passwords_differ"));
  try {
    const { csrf } = await put("v1/session/password", { old_password: old, password });
    useCsrf(csrf);
  } catch (problem) {
    const told = { 403: "old_password_wrong", 429: "login_often" }[problem.status];
    throw problem.reason === "csrf" || !told ? problem : new Error(say(told));
  }
}
