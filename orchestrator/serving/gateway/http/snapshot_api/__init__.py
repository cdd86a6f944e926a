"""The API of Plate Recognizer's snapshots, for clients that were written for it."""
