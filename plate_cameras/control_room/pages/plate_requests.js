// Export and deletion of everything about one plate.

import { address, get, remove } from "./api.js";
import { askFor } from "./dialogs.js";
import { saveAnswer } from "./downloads.js";
import { reasonOf } from "./reasons.js";
import { may } from "./session.js";
import { find, notify, say } from "../page/words.js";

export function connectRequests(pass) {
  const path = `v1/plates/${encodeURIComponent(pass.text)}`;
  find("requests").hidden = !pass.text || !may("administrator");
  find("export").addEventListener("click", () => askToExport(pass, path));
  find("delete").addEventListener("click", () => askToDelete(pass, path));
}

const reasonField = () => ({ name: "why", label: say("reason"), value: reasonOf(), required: true, hint: say("reason_hint") });

function askToExport({ text }, path) {
  return askFor({
    title: say("export_title", { text }),
    told: say("export_told"),
    fields: [reasonField()],
    yes: say("download"),
    check: ({ why }) => saveAnswer(`${path}/export`, {}, `${text}.zip`, { why }),
  });
}

async function askToDelete({ text }, path) {
  const { passes, cursor } = await get("v1/passes", { text, limit: 100 }, { auto: true }).catch(() => ({ passes: [] }));
  let counts;
  const given = await askFor({
    title: say("delete_title", { text }),
    told: say("delete_told", { count: `${passes.length}${cursor ? "+" : ""}` }),
    fields: [reasonField(), { name: "entries", label: say("delete_entries"), kind: "checkbox" }],
    yes: say("delete_all"),
    isDangerous: true,
    check: async ({ why, entries }) => {
      const response = await remove(path, { entries: entries ? "true" : undefined }, { why });
      counts = response.status === 204 ? {} : await response.json();
    },
  });
  if (!given) return;
  find("pass").hidden = true;
  notify(say("deleted", { count: counts.passes ?? passes.length }));
  setTimeout(() => location.assign(address("passes")), 2500);
}
