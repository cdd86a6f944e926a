"""Training of the detector, YOLOv5n."""
