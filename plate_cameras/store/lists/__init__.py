"""Lists of plates."""
