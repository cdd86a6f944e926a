"""CodeProject.AI's call for plates, for clients that were written for it."""
