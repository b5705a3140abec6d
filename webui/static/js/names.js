// The login of a shared device. It has a button for each person, who then types only the password.

import { keepNames, names } from "./frame.js";

export function startNames() {
  const form = document.querySelector("form[data-names]");
  const shared = form.querySelector("[data-shared]");
  shared.checked = names() !== null;
  shared.addEventListener("change", () => {
    keepNames(shared.checked ? [] : null);
    show(form);
  });
  show(form);
}

function show(form) {
  const group = form.querySelector(".names");
  const people = names() ?? [];
  group.hidden = people.length === 0;
  group.replaceChildren(...people.map((name) => choice(form, name)));
}

function choice(form, name) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = name;
  button.addEventListener("click", () => {
    form.elements.username.value = name;
    form.elements.password.focus();
  });
  return button;
}
