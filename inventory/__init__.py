"""The pure rules: integers in, integers out, no clock and no I/O (docs/domain.md)."""
