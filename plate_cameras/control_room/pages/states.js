// The states of cameras.

import { say, words } from "../page/words.js";

const WELL = new Set(["playing", "off", "ended"]);

export const isWell = (state) => WELL.has(state);

// A state that this page has no word for is shown as it is.
export const stateOf = (state) => (`state_${state}` in words ? say(`state_${state}`) : state);
