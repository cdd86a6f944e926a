// Questions: a title, what is told, and fields. A question may come above another one.

import { element, say, tellProblem } from "../page/words.js";

// Returns the values of the fields by name; undefined where the reader cancels.
export function askFor({ title, told = "", fields = [], yes = say("save"), isDangerous = false, check = async () => {} }) {
  const dialog = element("dialog", "", "ask");
  const form = element("form");
  form.method = "dialog";
  const heading = element("h2", title);
  dialog.ariaLabel = title;
  const problem = Object.assign(element("p", "", "banner warm"), { hidden: true, role: "alert" });
  const [cancel, agree] = [element("button", say("cancel")), element("button", yes, isDangerous ? "main dangerous" : "main")];
  cancel.type = "button";
  const row = element("div", "", "row end");
  row.append(cancel, agree);
  form.append(heading, ...(told ? [element("p", told)] : []), problem, ...fields.map(fieldOf), row);
  dialog.append(form);
  document.body.append(dialog);
  return new Promise((resolve) => {
    let answer;
    dialog.addEventListener("close", () => dialog.remove());
    cancel.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => resolve(answer), { once: true });
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const given = valuesOf(form, fields);
      agree.disabled = true;
      try {
        await check(given);
        answer = given;
        dialog.close();
      } catch (error) {
        problem.textContent = tellProblem(error.message, error.detail);
        problem.hidden = false;
      }
      agree.disabled = false;
    });
    dialog.showModal();
    (form.querySelector("input:not([readonly]), select, textarea") ?? cancel).focus();
  });
}

function fieldOf({ name, label, kind = "text", value = "", hint = "", choices, ...attributes }) {
  const box = element("div", "", kind === "checkbox" ? "field tick" : "field");
  const control = element(choices ? "select" : "input");
  const id = `ask-${name}`;
  Object.assign(control, { id, name, ...attributes });
  if (choices) control.append(...choices.map(([key, text]) => new Option(text, key, false, key === value)));
  else if (kind === "checkbox") Object.assign(control, { type: kind, checked: Boolean(value) });
  else Object.assign(control, { type: kind, value });
  const told = Object.assign(element("label", label), { htmlFor: id });
  box.append(...(kind === "checkbox" ? [control, told] : [told, control]));
  if (hint) {
    const below = Object.assign(element("p", hint, "faint hint"), { id: `${id}-hint` });
    control.setAttribute("aria-describedby", below.id);
    box.append(below);
  }
  return box;
}

function valuesOf(form, fields) {
  return Object.fromEntries(
    fields.map(({ name }) => {
      const control = form.elements.namedItem(name);
      return [name, control.type === "checkbox" ? control.checked : control.value];
    }),
  );
}

// Asks before something is lost. Returns whether the reader agrees.
export async function confirm(title, told, yes) {
  return Boolean(await askFor({ title, told, yes, isDangerous: true }));
}
