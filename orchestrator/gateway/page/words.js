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
