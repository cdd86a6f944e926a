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

export function countOf(plates) {
  const form = plates.length ? new Intl.PluralRules(words.language).select(plates.length) : "none";
  return say(form in words ? form : "few", { count: plates.length });
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
