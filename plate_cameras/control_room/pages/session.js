// Who looks at the page. Without a session or key, the reader is sent to the login.

import { get, toLogin, useCsrf } from "./api.js";

const ROLES = ["viewer", "editor", "administrator"];
const NOBODY = { name: "", role: "viewer", groups: [], via: "" };

export const session = await load();

useCsrf(session.csrf ?? "");

async function load() {
  try {
    return await get("v1/session");
  } catch (problem) {
    if (problem.status !== 401) return { ...NOBODY, problem };
    toLogin();
    return new Promise(() => {}); // the page is left; nothing more of it runs
  }
}

export function may(role) {
  return ROLES.indexOf(session.role) >= ROLES.indexOf(role);
}
