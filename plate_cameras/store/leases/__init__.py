"""Which of several watchers follows which camera."""
