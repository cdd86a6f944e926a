"""Recognising many pictures for people: where they come from, and where what was found goes."""
