// There is no map yet: as soon as a run has measured something, there is.
import { data, t } from "/static/api.js";
import { listen } from "/static/events.js";

const place = document.getElementById("live");
let seen = false;
listen(data.project, {
  progress: (run) => { seen = true; place.hidden = false; place.textContent = run.sentence; },
  point: () => setTimeout(() => location.reload(), 1000),
  end: (run) => {
    place.hidden = run.state === "idle";
    place.textContent = t("map.run_ended", { sentence: run.sentence });
    if (seen && run.state === "done") location.reload();
  },
});
document.body.setAttribute("data-ready", "");
