// What plates of each format design like: how the text is cut, and the colours.

// In `number`, each sign but "/" is a character before the region code; "/" breaks the line.
const ru = (number, paper = "white", more = {}) => ({ number, paper, country: "RUS", ...more });
const kz = (number, paper = "white", country = "KZ") => ({ number, paper, country });

const DESIGNS = {
  ru_car: ru("LDDDLL", "white", { flag: true }),
  ru_car_square: ru("LDDD/LL", "white", { flag: true }),
  ru_trailer: ru("LLDDDD", "white", { flag: true }),
  ru_taxi: ru("LLDDD", "yellow"),
  ru_transit: ru("LLDDDL", "white", { codePaper: "yellow", flag: true }),
  ru_export: ru("LLLDDD", "white", { codePaper: "yellow", flag: true }),
  ru_police: ru("LDDDD", "blue"),
  ru_police_trailer: ru("DDDL", "blue"),
  ru_police_motorcycle: ru("DDDD/L", "blue"),
  ru_diplomatic_head: ru("DDDLLD", "red"),
  ru_diplomatic: ru("DDDLDDD", "red"),
  ru_motorcycle: ru("DDDD/LL"),
  ru_moped: ru("LLDD/LL"),
  ru_offroad: ru("LLDD/DDDD", "white", { country: "" }),
  ru_tractor: ru("DDDD/LL"),
  ru_military: ru("DDDDLL", "black"),
  ru_military_square: ru("DDDD/LL", "black"),
  ru_military_trailer: ru("LLDDDD", "black"),
  ru_military_tractor: ru("DDDD/LL", "black"),
  ru_military_motorcycle: ru("DDDD/LL", "black"),
  kz_car: kz("DDDLLL"),
  kz_company: kz("DDDLL"),
  kz_foreign: kz("LDDDD", "yellow"),
  kz_car_square: kz("DDD/LLL"),
  kz_company_square: kz("DDD/LL"),
  kz_1993_square: kz("LDDD/LLL", "white", ""),
};
const UNKNOWN = { paper: "white", country: "" };

// Returns the lines, the region code ("" for none) and the colours of a plate.
export function designOf(text, format) {
  const design = DESIGNS[format] ?? UNKNOWN;
  const lines = [];
  let rest = text;
  for (const line of design.number?.split("/") ?? []) {
    lines.push(rest.slice(0, line.length));
    rest = rest.slice(line.length);
  }
  const isCut = lines.length > 0 && lines.every(Boolean) && (!design.country || rest);
  return isCut ? { ...design, lines, code: rest } : { ...UNKNOWN, paper: design.paper, lines: [text], code: "" };
}
