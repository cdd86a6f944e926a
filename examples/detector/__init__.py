"""Your own detector: an export in the format of ultralytics, served instead of ours."""
