// Records are shown when somebody asks for them, and hidden again by the same button.
import { call, t } from "/static/api.js";

export function recordsButton(places, drawn) {
  const button = document.getElementById("show-records"), place = document.getElementById("records");
  button?.addEventListener("click", async () => {
    const isOpen = button.getAttribute("aria-expanded") === "true";
    const answers = isOpen ? [] : await Promise.all(places.map((path) => call("GET", path)));
    place.replaceChildren(...(isOpen ? [] : drawn(answers).flat(2).filter(Boolean)));
    button.setAttribute("aria-expanded", String(!isOpen));
    button.textContent = t(isOpen ? "point.records_show" : "point.records_hide");
  });
}
