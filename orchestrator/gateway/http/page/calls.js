// Sends one picture to the service.

export async function recognize(file, key) {
  if (/[^!-~]/.test(key)) return { problem: { reason: "key" } }; // no header can hold it
  const headers = { "content-type": "application/octet-stream" }; // the server looks at the bytes
  if (key) headers["x-api-key"] = key;
  try {
    const response = await fetch("v1/recognize", { method: "POST", headers, body: file });
    const content = await response.json().catch(() => ({}));
    const { plates, seconds } = content.pictures?.[0] ?? {};
    return plates ? { plates, seconds } : { problem: { status: response.status, ...content } };
  } catch (error) {
    return { problem: { reason: "offline", detail: error.message } };
  }
}
