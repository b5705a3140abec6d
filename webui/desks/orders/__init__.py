"""Pages for purchase orders: drafts to send, lines in transit, overdue lines, the printed order."""
