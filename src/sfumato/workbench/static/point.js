// The page of a point: its blocks drawn as the report draws them; records and certificate only when they are asked for.
import { call, data as given, t } from "/static/api.js";
import { recordsButton } from "/static/records.js";

take(given);
Object.assign(depths, { block: 2, card: 3 });
const [point] = points;
const api = `/api/projects/${encodeURIComponent(given.project)}/points/${point.id}`;
const { details } = point;
document.getElementById("drawn").append(...[
  sizesBlock(details), budgetBlock(details), tablesBlock(details), worstBlock(details), ownFidelity(point), columnsBlock(details),
].flat().filter(Boolean));
document.getElementById("all-measures").append(foldedMeasures(point), commandBlock(point));
recordsButton([`${api}/records`], ([sample]) => [recordsBlock(sample), worstBlock(sample), tablesBlock(sample)]);

const button = document.getElementById("show-certificate");
button?.addEventListener("click", async () => {
  const error = document.getElementById("certificate-error");
  error.textContent = "";
  button.disabled = true;
  fill("certificate", element("p", { class: "quiet" }, t("point.certificate_wait")));
  try {
    const { certificate } = await call("GET", `${api}/certificate`);
    const part = (name) => [element("h3", {}, t(`point.certificate_${name}`)), ...certificate.in_plain_words[name].map((text) => element("p", {}, text))];
    const warnings = certificate.warnings.map(({ about, text }) => [element("dt", {}, about), element("dd", {}, text)]);
    fill(
      "certificate", element("div", { class: "panel" }, ["is", "protects", "does_not"].map(part)),
      element("details", {}, element("summary", {}, t("point.certificate_warnings")), element("dl", {}, warnings)),
      element("p", {}, element("a", { href: api.replace("/api", "") + "/certificate", target: "_blank", rel: "noopener" }, t("point.certificate_page"))),
    );
  } catch (refused) {
    fill("certificate");
    error.textContent = refused.message;
  }
  button.disabled = false;
});
document.body.setAttribute("data-ready", "");
