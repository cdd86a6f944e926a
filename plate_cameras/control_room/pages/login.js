// The login: a name, a password, and back to the page that was wanted.

import { ROOT, address, get, send } from "./api.js";
import "./language.js";
import { find, say, tellProblem } from "../page/words.js";

// Returns the page to go to. Only pages of this service are taken.
function target() {
  const wanted = new URLSearchParams(location.search).get("next") ?? "";
  try {
    const url = new URL(wanted.replace(/^\/+/, ""), ROOT);
    const isOurs = url.origin === ROOT.origin && url.pathname.startsWith(ROOT.pathname) && url.pathname !== address("login").pathname;
    return isOurs && wanted ? url : address("live");
  } catch {
    return address("live");
  }
}

function tell(text) {
  find("login-problem").textContent = text;
  find("login-problem").hidden = !text;
}

async function signIn(event) {
  event.preventDefault();
  const [name, password] = [find("name").value.trim(), find("password").value];
  if (!name || !password) return tell(say("login_empty"));
  const button = find("login").querySelector("button");
  button.disabled = true;
  try {
    await send("POST", "v1/session", { body: JSON.stringify({ name, password }), kind: "application/json" });
    location.replace(target());
  } catch (problem) {
    const told = { 401: "login_wrong", 429: "login_often" }[problem.status];
    tell(told ? say(told) : tellProblem(problem.message, problem.detail));
    find("password").value = "";
    find("password").focus();
  }
  button.disabled = false;
}

find("login").addEventListener("submit", signIn);
find("login").querySelector("button").disabled = false; // a browser would send the form by itself before
get("v1/session").then(() => location.replace(target()), () => {}); // signed in already
