// The page's words in its reader's language, as the server has put them beside the HTML,
// and elements that hold them as text.

export const words = JSON.parse(document.body.dataset.words);

export function say(name, values = {}) {
  return words[name].replace(/\{(\w+)\}/g, (_, key) => values[key]);
}

// Says a count in the form that its number needs in the language: `name_one`, `name_few`, `name_many`, `name_other`.
export function sayCount(name, count, values = {}) {
  const form = `${name}_${new Intl.PluralRules(words.language).select(count)}`;
  return say(form in words ? form : `${name}_many`, { count: numberOf(count), ...values });
}

export function numberOf(value) {
  return new Intl.NumberFormat(words.language, { maximumFractionDigits: 2 }).format(value);
}

export function percent(score) {
  const told = (share) => new Intl.NumberFormat(words.language, { style: "percent" }).format(share);
  return score > 0 && score < 0.005 ? `<${told(0.01)}` : told(score);
}

export function milliseconds(seconds) {
  const style = { style: "unit", unit: "millisecond", maximumFractionDigits: seconds < 0.01 ? 1 : 0 };
  return new Intl.NumberFormat(words.language, style).format(1000 * seconds);
}

export const secondsOf = (milliseconds) => numberOf(milliseconds / 1000);

// Counts the plates that were read; what nobody can read is told apart.
export function countOf(plates) {
  if (!plates.length) return say("none");
  const count = plates.filter((plate) => plate.text).length;
  if (!count) return say("unread_all", { told: sayCount("plates", plates.length) });
  const told = sayCount("plates", count);
  return count < plates.length ? say("with_unread", { told, unread: numberOf(plates.length - count) }) : told;
}

export function regionOf(plate) {
  return plate.region ? (words.regions[plate.region.name] ?? plate.region.name) : "";
}

export function formatOf(plate) {
  return words.formats[plate.format] ?? plate.format;
}

// Returns a plate's text in each alphabet, the reader's own first. Only some plates have two.
export function spellingsOf(plate) {
  const latin = { text: plate.text, lang: "en", name: say("latin") };
  if (!plate.text_native) return [latin];
  const cyrillic = { text: plate.text_native, lang: "ru", name: say("cyrillic") };
  return words.language === "ru" ? [cyrillic, latin] : [latin, cyrillic];
}

const LATIN = "ABEKMHOPCTYX";
const CYRILLIC = "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425"; // the same letters by their look

// A text of which no more is known, in the reader's letters: Russian plates have letters that both alphabets have.
export function spell(text) {
  const isRussian = words.language === "ru" && !/[^\d*?ABEKMHOPCTYX]/.test(text);
  return isRussian ? text.replace(/[A-Z]/g, (letter) => CYRILLIC[LATIN.indexOf(letter)]) : text;
}

export function textOf(plate) {
  return plate.text ? spellingsOf(plate)[0].text : "";
}

// A problem that the page itself has found in a file.
export function isLocal(problem) {
  return problem.reason in words && problem.reason.startsWith("wanted_");
}

export function sayProblem(problem) {
  if (isLocal(problem) || problem.reason === "offline") return say(problem.reason);
  return words.problems[problem.reason] ?? say("unknown", { status: problem.status });
}

// The detail of a problem in the reader's language. The service writes English; the catalogue has what readers cause.
// Returns "" for a detail that the catalogue does not have.
export function sayDetail(detail = "") {
  if (words.language === "en") return detail;
  for (const [sentence, told] of Object.entries(words.sentences)) {
    const names = [...sentence.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const pattern = sentence.split(/\{\w+\}/).map((part) => part.replace(/[.*+?^$()|[\]\\]/g, "\\$&")).join("(.+?)");
    const match = new RegExp(`(?:^|: )${pattern}(?:$|; )`, "s").exec(detail);
    if (match) return told.replace(/\{(\w+)\}/g, (_, name) => spell(match[1 + names.indexOf(name)]));
  }
  return "";
}

// A problem with its detail, as one text.
export function tellProblem(message, detail) {
  if (words.language === "en" && detail) return `${message} (${detail})`;
  return sayDetail(detail) || message;
}

// Elements

export const find = (id) => document.getElementById(id);

export function clone(template) {
  return find(template).content.firstElementChild.cloneNode(true);
}

export function element(tag, text = "", name = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = name;
  return made;
}

export function pair(term, told) {
  const made = element("div");
  made.append(element("dt", term), element("dd", told));
  return made;
}

// Tells a screen reader; `notify` also shows it.
export function announce(text) {
  find("status").textContent = text;
}

export function notify(text) {
  announce(text);
  find("notice").textContent = text;
  find("notice").hidden = !text;
}
