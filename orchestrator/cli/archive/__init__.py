"""Archives of any size: pictures of a disk or of object storage to Parquet, spread by Ray Data."""
