"""Gates: barriers and doors that open for plates of lists."""
