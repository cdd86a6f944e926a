// Requests to the REST API. Every failure becomes a Problem, whose message is told in the reader's language.

import { dropReason, forgetReason, headerOf, isWanted, toHeader, wantReason } from "./reasons.js";
import { say, words } from "../page/words.js";

export const ROOT = new URL("..", import.meta.url); // also where the service lies below a path

let csrf = "";

export class Problem extends Error {
  constructor({ status = 0, reason = "", detail = "" }) {
    super(words.problems[reason] ?? say(status ? "failed" : "offline", { status }));
    Object.assign(this, { status, reason, detail });
  }
}

export function useCsrf(token) {
  csrf = token;
}

export function address(path, query = {}) {
  const url = new URL(path, ROOT);
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) if (one !== "" && one !== undefined && one !== null) url.searchParams.append(name, one);
  }
  return url;
}

// Returns the response to a request. Asks for a reason where the server wants one, unless `quiet`.
// The audit marks what a page asks for by itself, with `auto`.
export async function send(method, path, { query, body, kind, why, quiet, auto } = {}) {
  const headers = { accept: "application/json" };
  if (kind) headers["content-type"] = kind;
  if (auto) headers["x-automatic"] = "true";
  if (method !== "GET" && csrf) headers["x-csrf-token"] = csrf;
  for (;;) {
    const given = why ? { "x-reason": toHeader(why) } : headerOf();
    const response = await fetch(address(path, query), { method, body, headers: { ...headers, ...given } }).catch(() => undefined);
    if (!response) throw new Problem({});
    if (response.ok) return response;
    const problem = { ...(await response.json().catch(() => ({}))), status: response.status };
    if (response.status === 401 && path !== "v1/session") toLogin();
    if (!isWanted(problem) || quiet) throw new Problem(problem);
    if (!why) forgetReason();
    why = undefined;
    if (!(await wantReason())) throw new Problem({ ...problem, reason: "no reason" });
  }
}

export async function get(path, query, options = {}) {
  return (await send("GET", path, { query, ...options })).json();
}

// Returns all things of an answer that comes in pages, such as `lists`.
export async function getAll(path, name, query) {
  const all = [];
  let cursor = "";
  do {
    const page = await get(path, { ...query, limit: 1000, cursor });
    all.push(...page[name]);
    ({ cursor } = page);
  } while (cursor);
  return all;
}

export async function put(path, value) {
  const response = await send("PUT", path, { body: JSON.stringify(value), kind: "application/json" });
  return response.status === 204 ? undefined : response.json();
}

export function remove(path, query, options = {}) {
  return send("DELETE", path, { query, ...options });
}

export function toLogin() {
  const here = location.pathname.slice(ROOT.pathname.length) + location.search;
  location.replace(address("login", { next: here }));
}

export async function signOut() {
  await send("DELETE", "v1/session");
  dropReason();
  location.assign(address("login"));
}
