"""The command `plates passes`: searches, exports, deletions, lists and replays of the store."""
