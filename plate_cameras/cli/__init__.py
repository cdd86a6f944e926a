"""The commands of the cameras: `plates watch`, `passes` and `people`."""
