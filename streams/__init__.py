"""The live side: workers that hold the state of every key, and the sinks that read their output."""
