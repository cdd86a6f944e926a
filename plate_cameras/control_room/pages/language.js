// The link to the other language, which shows the same search.

import { find } from "../page/words.js";

export function keepQuery() {
  const link = find("language");
  const query = new URLSearchParams(location.search);
  query.set("lang", link.hreflang);
  link.href = `?${query}`;
}

keepQuery(); // at once: a page's own code waits for the session, and its reader may not
