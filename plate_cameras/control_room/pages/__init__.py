"""The pages of the control room."""
