// Sounds of list hits, made by WebAudio. Whether they are on stays in this browser.

const KEY = "plates.sound";
const NOTES = { soft: [[660, 0, 0.16], [880, 0.13, 0.3]], alarm: [[880, 0, 0.14], [587, 0.16, 0.14], [880, 0.32, 0.14], [587, 0.48, 0.3]] };

let context;

export const isOn = () => localStorage.getItem(KEY) === "on";

export function turn(on) {
  localStorage.setItem(KEY, on ? "on" : "off");
  if (on) unlock();
}

// Browsers let a page sound only after its reader has done something on it.
export function unlock() {
  context ??= new AudioContext();
  if (context.state === "suspended") context.resume();
}

export function isLocked() {
  context ??= new AudioContext();
  return context.state === "suspended";
}

export function play(sound) {
  const notes = NOTES[sound];
  if (!notes || !isOn() || isLocked()) return;
  const from = context.currentTime + 0.02;
  for (const [pitch, after, lasts] of notes) {
    const tone = new OscillatorNode(context, { type: sound === "alarm" ? "square" : "sine", frequency: pitch });
    const loudness = new GainNode(context, { gain: 0 });
    loudness.gain.setValueAtTime(0, from + after);
    loudness.gain.linearRampToValueAtTime(sound === "alarm" ? 0.12 : 0.2, from + after + 0.015);
    loudness.gain.exponentialRampToValueAtTime(0.001, from + after + lasts);
    tone.connect(loudness).connect(context.destination);
    tone.start(from + after);
    tone.stop(from + after + lasts);
  }
}
