// The link to the other language.

import { find } from "../page/words.js";

// The other language shows the same search.
export function keepQuery() {
  const link = find("language");
  const query = new URLSearchParams(location.search);
  query.set("lang", link.hreflang);
  link.href = `?${query}`;
}
