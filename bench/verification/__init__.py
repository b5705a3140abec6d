"""`inventory verify` under load: sound data, and one wrong row at a time."""
