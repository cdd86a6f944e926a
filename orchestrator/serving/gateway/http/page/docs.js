// Sends the calls of the forms of /docs, and shows each as a curl command.

import { csrfHeader } from "./session.js";

const KEY = "PLATES_KEY";

// Behind a proxy the service does not know the address at which it is reached; the browser does.
const told = document.body.dataset.address;
const here = new URL(".", location).href.replace(/\/$/, "");
for (const code of document.querySelectorAll("pre > code")) {
  code.textContent = code.textContent.replaceAll(told, here);
}

for (const form of document.querySelectorAll("form.try")) prepare(form);
document.documentElement.classList.add("scripted");

function prepare(form) {
  const files = form.querySelector("input[type=file]");
  const sample = form.querySelector("[data-sample]");
  const show = () => (form.querySelector(".curl code").textContent = curlOf(form));
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form);
  });
  form.querySelector("[data-in=key]").addEventListener("input", shareKey);
  sample?.addEventListener("click", async () => {
    files.files = await filesOf(sample.dataset.sample);
    show();
    send(form);
  });
  show();
}

// A key that is typed into one form is that of all.
function shareKey({ target }) {
  for (const other of document.querySelectorAll("[data-in=key]")) {
    if (other !== target) other.value = target.value;
  }
}

async function filesOf(url) {
  const picture = await (await fetch(url)).blob();
  const chosen = new DataTransfer();
  chosen.items.add(new File([picture], url.split("/").pop(), { type: picture.type }));
  return chosen.files;
}

function valuesOf(form, where) {
  const inputs = [...form.querySelectorAll(`[data-in=${where}]`)].filter((one) => one.value);
  return inputs.map((one) => [one.dataset.name, one.value]);
}

function addressOf(form) {
  const query = new URLSearchParams(valuesOf(form, "query")).toString();
  return form.action + (query && `?${query}`);
}

function curlOf(form) {
  const { files } = form.querySelector("input[type=file]");
  const names = files.length ? [...files].map((file) => file.name) : ["car.jpg"];
  const fields = [...names.map((name) => [form.dataset.file, `@${name}`]), ...valuesOf(form, "form")];
  const key = form.querySelector("[data-in=key]").value ? [`--header "X-API-Key: $${KEY}"`] : [];
  const parts = fields.map(([name, value]) => `--form ${quote(`${name}=${value}`)}`);
  return ["curl", ...key, ...parts, quote(addressOf(form))].join(" ");
}

function quote(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

async function send(form) {
  const status = form.querySelector(".status");
  const answer = form.querySelector(".answer");
  const button = form.querySelector("button.main");
  const key = form.querySelector("[data-in=key]").value;
  const body = new FormData();
  for (const file of form.querySelector("input[type=file]").files) body.append(form.dataset.file, file);
  for (const [name, value] of valuesOf(form, "form")) body.append(name, value);
  button.disabled = true;
  status.textContent = "Sent, waiting for the answer";
  answer.hidden = true;
  try {
    const begun = performance.now();
    const response = await fetch(addressOf(form), { method: "POST", headers: await headersOf(key), body });
    const text = await response.text();
    const took = Math.round(performance.now() - begun);
    status.textContent = `${response.status} ${response.statusText}, ${took} ms`;
    answer.querySelector("code").textContent = laidOut(text);
    answer.hidden = false;
  } catch (error) {
    status.textContent = `No answer: ${error.message}`;
  } finally {
    button.disabled = false;
  }
}

async function headersOf(key) {
  if (key) return { "x-api-key": key };
  return document.getElementById("session") ? csrfHeader() : {}; // people can log in
}

// Indents JSON; lists of numbers stay in one line.
function laidOut(text) {
  try {
    const indented = JSON.stringify(JSON.parse(text), null, 2);
    return indented.replace(/\[[\s\d.,e-]+\]/g, (list) => list.replace(/\s+/g, " "));
  } catch {
    return text;
  }
}
