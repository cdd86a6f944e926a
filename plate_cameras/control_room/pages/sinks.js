// The receivers of events, with a button that sends each of them a test.

import { getAll, send } from "./api.js";
import { tell } from "./header.js";
import { announce, element, find, say, sayDetail } from "../page/words.js";

export async function showSinks() {
  const sinks = await getAll("v1/sinks", "sinks");
  find("no-sinks").hidden = sinks.length > 0;
  find("sinks").replaceChildren(...sinks.map(rowOf));
}

function rowOf({ name, type }) {
  const row = element("tr");
  const head = Object.assign(element("th", name), { scope: "row" });
  const outcome = element("td", "–", "long");
  const button = Object.assign(element("button", say("test_sink"), "quiet"), { type: "button", ariaLabel: `${say("test_sink")}: ${name}` });
  button.addEventListener("click", () => test(name, button, outcome).catch(tell));
  const actions = element("td", "", "actions");
  actions.append(button);
  row.append(head, element("td", type), outcome, actions);
  return row;
}

async function test(name, button, outcome) {
  button.disabled = true;
  outcome.textContent = say("test_sent");
  try {
    const { accepted, problem } = await (await send("POST", `v1/sinks/${encodeURIComponent(name)}/tests`)).json();
    const told = accepted ? say("test_accepted") : say("test_failed", { problem: sayDetail(problem) || problem });
    outcome.replaceChildren(element("span", told, `pill ${accepted ? "good" : "warm"}`));
    announce(told);
  } catch (problem) {
    outcome.textContent = "–";
    throw problem;
  } finally {
    button.disabled = false;
    button.focus();
  }
}
