"""Why a number is what it is: the fixed lines of domain.md 5 (Explanation), for every reader."""
