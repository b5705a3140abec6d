"""The orders desk: drafts to send, lines on their way, what is late, and the printed order."""
