"""Your own detector: an export in ultralytics' manner, served in place of ours."""
