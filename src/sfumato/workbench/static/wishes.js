// What matters: plain choices, how long it takes, and any option by forms.
import { call, element, t } from "./api.js";
import { api, attempt, onPage, pageData, renew, version, wrong } from "./before.js";
import { optionsOf } from "./options.js";

onPage(() => {
  const form = document.getElementById("wishes");
  const target = document.getElementById("target-field");
  const apply = () => { if (target) target.hidden = form.querySelector("[name=purpose]:checked")?.value !== "learning"; };
  form.addEventListener("change", apply);
  apply();
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = Object.fromEntries(new FormData(form));
    if (given.known) given.known = Number(given.known);
    const place = (field) => form.querySelector(`[name=${field || "recipient"}]`)?.closest(".field, fieldset")?.querySelector(".wrong");
    attempt(async () => { await call("POST", api("wishes"), { ...given, version: version() }); await renew(); }, place);
  });
  estimated();
  const any = document.getElementById("any");
  const fill = () => { if (any.open && !document.getElementById("options").firstChild) attempt(async () => optionsOf(document.getElementById("options"), await call("GET", "/api/options"), await call("GET", api("wishes")))); };
  any.addEventListener("toggle", fill);
  fill();
});

async function estimated() {
  const place = document.getElementById("estimate");
  try {
    const seen = await call("GET", api("estimate"));
    const said = [element("p", { class: "lead" }, t("wishes.releases_made", { candidates: seen.candidates }))];
    if (seen.wrong) said.push(element("p", { class: "wrong stays" }, seen.wrong));
    if (seen.problems.length) said.push(element("p", { class: "notice" }, t("wishes.problems")), element("ul", { class: "notices" }, seen.problems.map((each) => element("li", {}, element("code", {}, each.candidate), ": ", each.reason))));
    place.replaceChildren(...said);
  } catch (error) {
    const sentence = element("p", { class: "wrong stays" });
    place.replaceChildren(sentence);
    wrong(error.message, sentence);
  }
}
