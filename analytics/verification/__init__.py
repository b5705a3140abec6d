"""The parts of `inventory verify`: waiting, the sums by SQL, the live state, the comparison."""
