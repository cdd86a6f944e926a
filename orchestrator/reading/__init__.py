"""Reading: crops of plates, both passes, CTC decoding, the grammar, readings."""
