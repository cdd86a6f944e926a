// Import of a CSV file into a list. A wrong line is shown with its number and its content.

import { send } from "./api.js";
import { element, find, say } from "../page/words.js";

const LINE = /\bline (\d+)/g;
const SHOWN = 20; // wrong lines

// `nameOf()` is the list, `done()` shows it again.
export function connectImport(nameOf, done) {
  const box = find("drop");
  box.addEventListener("submit", (event) => event.preventDefault());
  find("file").addEventListener("change", ({ target }) => {
    if (target.files.length) take(target.files[0], nameOf(), done);
    target.value = ""; // so that the same file can be chosen again
  });
  for (const [event, on] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
    box.addEventListener(event, (given) => {
      given.preventDefault();
      box.classList.toggle("dropping", on);
    });
  }
  box.addEventListener("drop", ({ dataTransfer }) => {
    if (dataTransfer.files.length) take(dataTransfer.files[0], nameOf(), done);
  });
}

async function take(file, name, done) {
  const content = await file.arrayBuffer(); // in any encoding: the server knows them
  const query = { replace: find("replace").checked ? "true" : "false" };
  try {
    const response = await send("POST", `v1/lists/${encodeURIComponent(name)}/entries`, { query, body: content, kind: "text/csv" });
    const { imported } = await response.json();
    await done();
    find("import-told").replaceChildren(element("p", say("imported", { count: imported, file: file.name }), "banner good"));
  } catch (problem) {
    find("import-told").replaceChildren(...problemOf(problem, file.name, textOf(content)));
  }
}

function textOf(content) {
  const [first, second] = new Uint8Array(content);
  const isWide = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  if (isWide) return new TextDecoder(first === 0xff ? "utf-16le" : "utf-16be").decode(content);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    return new TextDecoder("windows-1251").decode(content);
  }
}

function problemOf(problem, file, content) {
  const lines = content.split(/\r?\n/);
  const numbers = [...new Set([...problem.detail.matchAll(LINE)].map(([, number]) => Number(number)))];
  const told = element("p", say(numbers.length ? "import_wrong" : "import_failed", { file }), "banner warm");
  const detail = element("p", problem.detail || problem.message, "faint");
  detail.lang = "en";
  if (!numbers.length) return [told, detail];
  const list = element("ol", "", "wrong-lines");
  for (const number of numbers.slice(0, SHOWN)) {
    const item = element("li");
    item.append(element("b", say("csv_line", { number })), element("code", lines[number - 1] ?? ""));
    list.append(item);
  }
  return [told, detail, list];
}
