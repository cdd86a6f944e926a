"""Everything around a Triton of one's own: what it serves, with what, and that it keeps running."""
