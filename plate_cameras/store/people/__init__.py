"""People, their sessions, and the record of what they looked at."""
