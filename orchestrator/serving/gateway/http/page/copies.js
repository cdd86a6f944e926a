// Copies and files of the results.

import { announce, clone, countOf, element, find, regionOf, say, sayProblem, words } from "./words.js";

const BYTE_ORDER_MARK = "\ufeff"; // without it, spreadsheets do not take a file for UTF-8
const SHOWN_MS = 2000; // how long a button says that it has copied

export function copyButton(text, kind = "") {
  const button = clone("copy");
  button.classList.add("copy", ...(kind ? [kind] : []));
  button.ariaLabel = button.title = say("copy_text", { text });
  const told = button.querySelector("span");
  told.textContent = say("copy");
  button.addEventListener("click", async () => {
    if (!(await copy(text, text))) return;
    button.classList.add("done");
    told.textContent = say("copy_done");
    setTimeout(() => {
      button.classList.remove("done");
      told.textContent = say("copy");
    }, SHOWN_MS);
  });
  return button;
}

// Returns whether the browser let the page copy. Otherwise the text is there to be copied.
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    announce(say("copied", { what }));
    return true;
  } catch {
    // plain HTTP, or the browser does not let us
    find("copied").hidden = false;
    find("copied-text").value = text;
    find("copied-text").select();
    announce(say("select"));
    return false;
  }
}

export function save(content, name, kind) {
  const link = element("a");
  const mark = kind.startsWith("text/csv") ? BYTE_ORDER_MARK : "";
  link.href = URL.createObjectURL(new Blob([mark, content], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), SHOWN_MS);
}

export function toJson(answers) {
  return JSON.stringify({ pictures: answers }, null, 2);
}

// Spreadsheets want the form of the reader's country: with a decimal comma, semicolons are between cells.
const DECIMAL = words.language === "ru" ? "," : ".";
export const SEPARATOR = DECIMAL === "," ? ";" : ",";
const COLUMNS = ["picture", "text", "text_native", "text_score", "detection_score", "x0", "y0", "x1", "y1", "format", "region_code", "region", "problem", "message"];

// A row for each plate; a picture without plates has one, too.
export function toCsv(answers) {
  const rows = answers.flatMap(({ name, plates, problem }) => {
    if (problem) return [{ picture: name, problem: problem.reason ?? problem.status, message: sayProblem(problem) }];
    return plates.length ? plates.map((one) => rowOf(name, one)) : [{ picture: name, message: countOf([]) }];
  });
  const lines = rows.map((row) => COLUMNS.map((column) => row[column] ?? ""));
  return [COLUMNS, ...lines].map((row) => row.map(cell).join(SEPARATOR) + "\r\n").join("");
}

function rowOf(picture, plate) {
  const [x0, y0, x1, y1] = plate.xyxy;
  const region = { region_code: plate.region?.code, region: regionOf(plate) };
  return { picture, ...plate, x0, y0, x1, y1, ...region };
}

// Places before a formula, also where a spreadsheet splits the file at semicolons, tabs or line ends.
const FORMULA = /(?:^|(?<=[,;\t\n])|(?<=\r)(?!\n))(?=[\x00-\x20\x7f-\xa0'"\u200b-\u200f\u2060\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20])|^(?='*[\t\r\n])/g;

// RFC 4180; a spreadsheet would take a file's name that begins with = for a formula.
function cell(value) {
  const text = typeof value === "string" ? value.replace(FORMULA, "'") : String(value).replace(".", DECIMAL);
  return /[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
