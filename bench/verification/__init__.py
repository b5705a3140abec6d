"""`inventory verify` under load: on correct data, and with one wrong row at a time."""
