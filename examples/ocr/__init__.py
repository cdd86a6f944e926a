"""Text in pictures, with two forms: an ensemble of five models, and one Python model."""
