"""Worker processes on an in-memory broker, interleaved and disturbed as a seed says."""
