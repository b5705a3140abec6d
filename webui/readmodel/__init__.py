"""The read model: tables that the projector writes and the pages read."""
