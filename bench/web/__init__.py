"""`inventory bench web`: the pages over a large read model, measured over HTTP."""
