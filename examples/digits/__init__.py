"""Classifies digits: the bytes of a picture file in, the scores of ten digits out."""
