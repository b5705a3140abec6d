"""The rules of stock, replenishment and prices as pure functions (docs/domain.md).

They compute with integers only. They read no clock and do no input or output.
"""
