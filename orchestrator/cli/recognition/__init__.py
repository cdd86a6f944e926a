"""Recognition of many pictures for people: finds the pictures and writes the results."""
