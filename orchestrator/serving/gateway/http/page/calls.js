// Sends one picture to the service.

import { headersOf, noteStatus } from "./key.js";

export async function recognize(file, key) {
  if (/[^!-~]/.test(key)) return { problem: { reason: "key" } }; // no header can hold it
  try {
    const kind = "application/octet-stream"; // the server looks at the bytes
    const headers = { "content-type": kind, ...(await headersOf(key)) };
    const response = await fetch("v1/recognize", { method: "POST", headers, body: file });
    await noteStatus(response.status);
    const content = await response.json().catch(() => ({}));
    const { plates, seconds } = content.pictures?.[0] ?? {};
    return plates ? { plates, seconds } : { problem: { status: response.status, ...content } };
  } catch (error) {
    return { problem: { reason: "offline", detail: error.message } };
  }
}
