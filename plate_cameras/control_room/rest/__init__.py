"""The REST API of the control room."""
