// The colour and the sound of each list. They are the reader's own, and stay in this browser.

const KEY = "plates.tones";

export const TONES = ["green", "blue", "amber", "red", "violet", "grey"];
export const SOUNDS = ["none", "soft", "alarm"];

function kept() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch {
    return {};
  }
}

// Red and green are never given by themselves: they say alarm and well, and the reader chooses those.
function defaultOf(list) {
  const choices = ["blue", "violet", "amber"];
  const sum = [...list].reduce((total, one) => (31 * total + one.codePointAt(0)) % 9973, 7);
  return { tone: choices[sum % choices.length], sound: "soft" };
}

export function lookOf(list) {
  return { ...defaultOf(list), ...kept()[list] };
}

export function keepLook(list, look) {
  localStorage.setItem(KEY, JSON.stringify({ ...kept(), [list]: { ...lookOf(list), ...look } }));
}
