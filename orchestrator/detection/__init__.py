"""Detection: the letterbox, boxes and NMS, the detector's output, tiles, close-ups, the search."""
