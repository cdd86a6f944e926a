// The session of a reader who has logged in to the control room. It replaces a key.

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

async function load() {
  try {
    const response = await fetch("v1/session");
    const session = response.ok ? await response.json() : undefined;
    return session?.via === "session" ? session : undefined;
  } catch {
    return undefined; // the next call tells
  }
}
