"""Reading: crops of plates, further passes, CTC decoding, the grammar, readings."""
