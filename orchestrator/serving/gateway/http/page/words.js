// The page's words in its reader's language, as the server has put them beside the HTML,
// and elements that hold them as text.

export const words = JSON.parse(document.body.dataset.words);

export function say(name, values = {}) {
  return words[name].replace(/\{(\w+)\}/g, (_, key) => values[key]);
}

export function percent(score) {
  const told = (share) => new Intl.NumberFormat(words.language, { style: "percent" }).format(share);
  return score > 0 && score < 0.005 ? `<${told(0.01)}` : told(score);
}

export function milliseconds(seconds) {
  const style = { style: "unit", unit: "millisecond", maximumFractionDigits: seconds < 0.01 ? 1 : 0 };
  return new Intl.NumberFormat(words.language, style).format(1000 * seconds);
}

export function secondsOf(milliseconds) {
  return new Intl.NumberFormat(words.language, { maximumFractionDigits: 2 }).format(milliseconds / 1000);
}

export function countOf(plates) {
  const form = plates.length ? new Intl.PluralRules(words.language).select(plates.length) : "none";
  return say(form in words ? form : "few", { count: plates.length });
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
