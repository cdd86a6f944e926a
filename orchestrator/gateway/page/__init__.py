"""The page at `/`: pictures in, plates drawn over them, for people with a browser."""
