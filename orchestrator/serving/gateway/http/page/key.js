// How a reader is let in: by a key, or by the session of the control room.

import { csrfHeader, findSession, forgetSession } from "./session.js";
import { find, say, words } from "./words.js";

const LOST = [401, 403];

export async function showKey() {
  const session = words.has_people ? await findSession() : undefined;
  find("key-box").hidden = !words.has_keys || Boolean(session);
  find("signed-in").hidden = !words.has_keys || !session;
  if (session) find("signed-in").textContent = say("signed_in", { name: session.name });
}

// Returns the headers of a call. A key goes before the session.
export async function headersOf(key) {
  if (key) return { "x-api-key": key };
  return words.has_keys && words.has_people ? csrfHeader() : {};
}

// Offers the field of the key again, where a session has ended.
export async function noteStatus(status) {
  if (!LOST.includes(status) || !(words.has_people && (await findSession()))) return;
  forgetSession();
  await showKey();
}
