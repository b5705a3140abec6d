"""Parts of docs/reference, generated from the code's routes, metrics, topics and schemas."""
