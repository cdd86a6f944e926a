"""The command `plates watch`: cameras and clips."""
