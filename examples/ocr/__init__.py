"""Text in pictures, read twice: by an ensemble of five models, and by one Python model."""
