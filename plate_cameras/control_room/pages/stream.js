// The stream of passes and camera states. It connects again by itself, and tells its state.

import { address, get, toLogin } from "./api.js";

const FIRST_MS = 1000;
const MAX_MS = 30_000;

// Calls `on.pass(pass, kind)`, `on.camera(camera)`, `on.state(state)`, and `on.reset()` if events
// were missed that are no longer known; returns what ends it. The states are opening, open and lost.
export function follow(query, on) {
  let source;
  let timer;
  let wait = FIRST_MS;
  let last = "";
  const open = () => {
    source = new EventSource(address("v1/events", { ...query, after: last }));
    source.addEventListener("open", () => {
      wait = FIRST_MS;
      on.state("open");
    });
    for (const kind of ["agreed", "updated", "closed"]) {
      source.addEventListener(`pass.${kind}`, ({ data, lastEventId }) => {
        last = lastEventId || last;
        on.pass(JSON.parse(data), kind);
      });
    }
    source.addEventListener("reset", ({ lastEventId }) => {
      last = lastEventId || last;
      on.reset?.();
    });
    source.addEventListener("camera", ({ data }) => on.camera?.(JSON.parse(data)));
    source.addEventListener("error", () => {
      on.state("lost");
      if (source.readyState === EventSource.CLOSED) openLater();
    });
  };
  const openLater = () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      if (await isSignedOut()) return toLogin();
      open();
    }, wait);
    wait = Math.min(2 * wait, MAX_MS);
  };
  on.state("opening");
  open();
  return () => {
    clearTimeout(timer);
    source.close();
  };
}

function isSignedOut() {
  return get("v1/session").then(() => false, (problem) => problem.status === 401);
}
