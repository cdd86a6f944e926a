// Why a pass has its text: the share of the readings' weights that each text has.

import { element, percent, say, sayCount, spell } from "../page/words.js";

const SHOWN = 4; // texts with a colour of their own
const OTHER = "other";

// Returns the texts of a pass by their weight, the greatest first: `{text, weight, share, count, tone}`.
export function weigh({ readings, text }) {
  const sums = new Map();
  for (const reading of readings) {
    const sum = sums.get(reading.text) ?? { text: reading.text, weight: 0, count: 0 };
    sum.weight += reading.weight;
    sum.count += 1;
    sums.set(reading.text, sum);
  }
  const total = [...sums.values()].reduce((sum, one) => sum + one.weight, 0) || 1;
  const sorted = [...sums.values()].sort((one, other) => other.weight - one.weight);
  return sorted.map((one, index) => ({ ...one, share: one.weight / total, tone: one.text === text ? "won" : index < SHOWN ? `lost-${index}` : OTHER }));
}

export function showEvidence(box, pass) {
  const texts = weigh(pass);
  if (!texts.length) return box.append(element("p", say("no_readings"), "empty"));
  const bar = element("div", "", "shares");
  bar.ariaHidden = "true";
  for (const { share, tone } of texts) {
    const part = element("span", "", `share ${tone}`);
    part.style.flexGrow = share;
    bar.append(part);
  }
  const list = element("ul", "", "share-names");
  list.append(...texts.slice(0, SHOWN + 1).map((one) => nameOf(one)));
  box.append(element("p", reasonTold(texts, pass)), bar, list);
}

function nameOf({ text, share, count, tone }) {
  const item = element("li");
  item.append(element("span", "", `dot ${tone}`), element("code", text ? spell(text) : say("unread")), element("b", percent(share)), element("span", say("readings_count", { count }), "faint"));
  return item;
}

function reasonTold(texts, { text, readings }) {
  const won = texts.find((one) => one.text === text);
  if (!text) return say("why_unread");
  if (!won) return say("why_joined");
  if (texts.length === 1) return sayCount("why_all", readings.length);
  return say("why_most", { percent: percent(won.share), count: won.count, all: readings.length });
}
