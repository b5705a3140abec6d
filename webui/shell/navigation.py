"""Looks of the navigation: its headings, its icons, and the bar of a phone."""

from typing import Final

# Headings of the navigation: each begins at a desk and lasts until the next one.
GROUPS: Final = {"stock": "Store", "reorders": "Buying and prices", "history": "Company"}
# Icons of `static/vendor/lucide/lucide.svg`.
ICONS: Final = {
    "stock": "boxes",
    "tasks": "list-checks",
    "counts": "clipboard-check",
    "receiving": "package-check",
    "transfers": "repeat",
    "reorders": "shopping-cart",
    "orders": "file-text",
    "suppliers": "truck",
    "ranging": "layers",
    "prices": "tag",
    "system": "activity",
    "people": "users",
    "admin:index": "settings",
    "home": "house",
    "find": "search",
    "scan": "scan-barcode",
    "labels": "barcode",
    "history": "history",
    "audit": "shield-check",
}
OTHER_ICON: Final = "package"
# The bar of a phone: a person gets the first four of these that they may open. The second text is
# the label there.
BAR: Final = (
    ("find", "Find"),
    ("scan", "Scan"),
    ("counts", "Count"),
    ("receiving", "Receive"),
    ("tasks", "Tasks"),
    ("reorders", "Reorders"),
    ("prices", "Prices"),
    ("orders", "Orders"),
    ("system", "System"),
)
BAR_LENGTH: Final = 4
