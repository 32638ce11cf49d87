// A project whose uploaded file is gone: the same file, once more.
import { call } from "./api.js";
import { api, takesFiles } from "./before.js";

takesFiles(async (source) => {
  await call("POST", api("source"), { source });
  location.reload();
});
