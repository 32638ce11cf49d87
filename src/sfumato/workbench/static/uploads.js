// Handing in a file as it is; what comes back is its source.
import { send } from "./api.js";

export const upload = (file) => send("PUT", `/api/uploads/${encodeURIComponent(file.name || "upload")}`, file);

// Let an element take files that are dropped onto it.
export function takesDrops(place, taken) {
  for (const name of ["dragenter", "dragover"]) {
    place.addEventListener(name, (event) => { event.preventDefault(); place.classList.add("over"); });
  }
  place.addEventListener("dragleave", () => place.classList.remove("over"));
  place.addEventListener("drop", (event) => {
    event.preventDefault();
    place.classList.remove("over");
    if (event.dataTransfer.files.length) taken(event.dataTransfer.files[0]);
  });
}
