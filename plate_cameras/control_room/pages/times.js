// Times in the reader's zone and language.

import { element, say, words } from "../page/words.js";

// The reader's own form of the language, such as en-GB, if the browser knows it.
const LOCALE = navigator.languages.find((one) => one.split("-")[0] === words.language) ?? words.language;
const CLOCK = new Intl.DateTimeFormat(LOCALE, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const DAY = new Intl.DateTimeFormat(LOCALE, { day: "numeric", month: "short" });
const DAY_OF_YEAR = new Intl.DateTimeFormat(LOCALE, { day: "numeric", month: "short", year: "numeric" });
const WEEKDAY = new Intl.DateTimeFormat(LOCALE, { weekday: "short" });

// How the times of a pass are told. A clip has no date: its passes have their place in it.
export function timesOf({ clock }) {
  if (clock !== "file") return { clockOf, dayOf, dateTimeOf, agoOf };
  const inClip = () => say("in_clip");
  return { clockOf: placeOf, dayOf: inClip, dateTimeOf: (time) => say("place_in_clip", { time: placeOf(time) }), agoOf: inClip };
}

// A pass of a clip is live when it is found.
export const orderOf = ({ clock, first_seen, stored }) => (clock === "file" ? stored : first_seen);

function placeOf(time) {
  const seconds = Math.floor(Date.parse(time) / 1000);
  const two = (number) => String(number % 60).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes}:${two(seconds)}` : `${Math.floor(minutes / 60)}:${two(minutes)}:${two(seconds)}`;
}

export const clockOf = (time) => CLOCK.format(new Date(time));

export function dayOf(time) {
  const day = new Date(time);
  if (isSameDay(day, new Date())) return say("today");
  return (day.getFullYear() === new Date().getFullYear() ? DAY : DAY_OF_YEAR).format(day);
}

export function dateTimeOf(time) {
  return time ? `${dayOf(time)}, ${clockOf(time)}` : "–";
}

// The day and the time for a table.
export function whenOf(time) {
  const when = element("td", "", "when");
  when.append(element("span", `${dayOf(time)},`, "faint"), " ", element("b", clockOf(time)));
  return when;
}

export function weekdayOf(day) {
  return `${WEEKDAY.format(day)} ${DAY.format(day)}`;
}

export const isWeekend = (day) => [0, 6].includes(day.getDay());

export function isSameDay(one, other) {
  return one.toDateString() === other.toDateString();
}

export function secondsTold(seconds) {
  const digits = seconds < 10 ? 1 : 0;
  return new Intl.NumberFormat(LOCALE, { style: "unit", unit: "second", unitDisplay: words.language === "ru" ? "short" : "narrow", maximumFractionDigits: digits }).format(seconds);
}

// A long time: days, hours and minutes.
export function stayTold(seconds) {
  const minutes = Math.floor(seconds / 60);
  const parts = { day: Math.floor(minutes / 1440), hour: Math.floor((minutes % 1440) / 60), minute: minutes % 60 };
  const shown = Object.entries(parts).filter(([unit, count]) => count && (unit !== "minute" || !parts.day));
  const tell = ([unit, count]) => new Intl.NumberFormat(LOCALE, { style: "unit", unit, unitDisplay: "short" }).format(count);
  return (shown.length ? shown : [["minute", 0]]).map(tell).join(" ");
}

export function agoOf(time) {
  const seconds = Math.max(0, (Date.now() - new Date(time)) / 1000);
  const told = new Intl.RelativeTimeFormat(LOCALE, { style: "short", numeric: "always" });
  if (seconds < 60) return told.format(-Math.round(seconds), "second");
  if (seconds < 3600) return told.format(-Math.floor(seconds / 60), "minute");
  return dateTimeOf(time);
}

// The value of a field of the type datetime-local; "" for no time.
export function toField(time) {
  if (!time) return "";
  const at = new Date(time);
  const two = (number) => String(number).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const seconds = at.getSeconds() ? `:${two(at.getSeconds())}` : "";
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}${seconds}`;
}

// The time in UTC of such a field, as RFC 3339; "" for an empty one.
export function fromField(value) {
  return value ? new Date(value).toISOString() : "";
}

// A date alone as the start or the end of that day of the reader's zone, RFC 3339; other values as they are.
export function toDayBound(value, isEnd) {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(value ?? "") ?? [];
  const bound = new Date(year, month - 1, Number(day) + Number(isEnd));
  return Number.isNaN(bound.getTime()) ? value : bound.toISOString();
}
