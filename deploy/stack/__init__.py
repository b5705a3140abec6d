"""The stack without containers: the real parts as supervised child processes on loopback."""
