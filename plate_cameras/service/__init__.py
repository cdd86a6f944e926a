"""`plates watch` as a whole: its parts are made, run, reloaded and ended here."""
