"""Studies that were made once; docs name the commit that holds them."""
