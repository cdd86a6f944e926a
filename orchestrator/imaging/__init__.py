"""Pictures: files, headers and decoding; drawings of the results."""
