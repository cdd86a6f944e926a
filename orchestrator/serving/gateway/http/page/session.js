// The session of a reader who has logged in to the control room. It replaces a key.

const REFUSED = [401, 403, 404];

let loading;

// Returns the session, as /v1/session describes it; undefined without one.
export function findSession() {
  return (loading ??= load());
}

export function forgetSession() {
  loading = Promise.resolve();
}

// Returns the header by which the service knows that its own page sends a request.
export async function csrfHeader() {
  const session = await findSession();
  return session ? { "x-csrf-token": session.csrf } : {};
}

// A service that is full for a moment does not make its reader look for a key.
async function load() {
  for (const wait_ms of [0, 500, 1500, 3000]) {
    await new Promise((resolve) => setTimeout(resolve, wait_ms));
    const response = await fetch("v1/session").catch(() => undefined); // the next call tells
    if (REFUSED.includes(response?.status)) return undefined;
    if (!response?.ok) continue;
    const session = await response.json().catch(() => undefined);
    return session?.via === "session" ? session : undefined;
  }
  return undefined;
}
