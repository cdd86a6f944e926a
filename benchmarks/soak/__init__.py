"""Mixed calls for as long as one likes, and whether anything of the service grows meanwhile."""
