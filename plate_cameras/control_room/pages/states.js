// The states of cameras.

const WELL = new Set(["playing", "off", "ended"]);

export const isWell = (state) => WELL.has(state);
