"""One package per desk: addresses, views and queries."""
