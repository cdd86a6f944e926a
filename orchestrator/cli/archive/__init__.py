"""Recognises archives of any size: from a disk or object storage to Parquet, with Ray Data."""
