"""Roads seen by a camera: pictures, and clips with the truth of their passes."""
