"""Record formats: topics, decoding, state, decisions, rejections."""
