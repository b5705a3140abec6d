"""Pages for receiving: due orders of a location, the form of a delivery, and its report."""
