"""The web page at `/`: it takes pictures and draws the plates over them."""
