// The link to the other language, which shows the same search.

import { find } from "../page/words.js";

export function keepQuery() {
  const link = find("language");
  const query = new URLSearchParams(location.search);
  query.set("lang", link.hreflang);
  link.href = `?${query}`;
}

// A navigation wider than the screen scrolls to its page.
document.querySelector("#pages [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

keepQuery(); // at once: a page's own code waits for the session, and its reader may not
