// Files of what was found.

import { get, send } from "./api.js";
import { save } from "../page/copies.js";
import { words } from "../page/words.js";

const PAGE = 500; // passes of one request

// Saves the answer to a request as a file, under the name that the server gives.
export async function saveAnswer(path, query, name, options = {}) {
  const response = await send("GET", path, { query, ...options });
  const kind = response.headers.get("content-type") ?? "application/octet-stream";
  const isCsv = kind.startsWith("text/csv"); // `save` gives it a byte order mark, and `text` removes the one it has
  save(isCsv ? await response.text() : await response.blob(), name, kind);
}

// A file for people: in the form of the reader's spreadsheet, with local times.
export function saveTable(query) {
  const format = words.language === "ru" ? "excel" : "csv"; // a decimal comma needs semicolons
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return saveAnswer("v1/passes", { ...query, format, language: words.language, time_zone: zone }, "passes.csv");
}

// Saves all passes of a search as JSON; `onStep` is told how many there are so far.
export async function savePasses(query, onStep) {
  const passes = [];
  let cursor = "";
  do {
    const page = await get("v1/passes", { ...query, limit: PAGE, cursor });
    passes.push(...page.passes);
    cursor = page.cursor;
    onStep(passes.length);
  } while (cursor);
  save(JSON.stringify({ passes }, null, 2), "passes.json", "application/json");
}
