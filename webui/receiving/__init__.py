"""The receiving desk: what is due at a location, one delivery at a time, and its closing report."""
