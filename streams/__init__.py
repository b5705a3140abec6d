"""Live side: workers that keep the state of every key, and the sinks behind them."""
