"""A picture file's bytes in, the scores of ten digits out."""
