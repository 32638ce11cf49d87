// What a run tells as it goes. A browser keeps few connections to one place, so a tab that nobody looks at lets go of
// its own, and asks anew when it is looked at again.

// Call `heard.progress`, `heard.point` and `heard.end` with what a run of a project tells; return what ends listening.
export function listen(project, heard) {
  let source = null;
  let over = false;
  let told = "";
  const close = () => { source?.close(); source = null; };
  const open = () => {
    if (over || source !== null || document.hidden) return;
    source = new EventSource(`/api/projects/${encodeURIComponent(project)}/run/events?told=${told}`);
    for (const kind of ["progress", "point", "end"]) {
      source.addEventListener(kind, (event) => {
        told = event.lastEventId;
        if (kind === "end") stop();
        heard[kind]?.(JSON.parse(event.data));
      });
    }
  };
  const looked = () => (document.hidden ? close() : open());
  const stop = () => { over = true; close(); document.removeEventListener("visibilitychange", looked); };
  document.addEventListener("visibilitychange", looked);
  open();
  return stop;
}
