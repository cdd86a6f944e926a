// The page's words in its reader's language, as the server has put them beside the HTML.

export const words = JSON.parse(document.body.dataset.words);

export function say(name, values = {}) {
  return words[name].replace(/\{(\w+)\}/g, (_, key) => values[key]);
}

export function percent(score) {
  return new Intl.NumberFormat(words.language, { style: "percent" }).format(score);
}

export function countOf(plates) {
  const form = plates.length ? new Intl.PluralRules(words.language).select(plates.length) : "none";
  return say(form in words ? form : "few", { count: plates.length });
}
