"""Import of sales from files in the layout of the UCI "Online Retail" data set."""
