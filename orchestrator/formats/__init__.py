"""Plate formats of countries, with regions, transliteration and the edit distance."""
