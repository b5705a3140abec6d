"""Records on the wire: topics, decoding, state, decisions, rejections."""
