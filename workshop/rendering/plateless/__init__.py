"""Pictures without plates, full of things that look like plates."""
