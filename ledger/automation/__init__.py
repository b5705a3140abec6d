"""Periodic jobs that run outside of the workers.

The jobs approve reorders and prices for which the rules require no person. They also send orders,
open and clear tasks, and measure suppliers. No job computes stock. Each job reads the workers'
decisions and the limits that people set, and calls the same services as the pages. Rows that a job
writes name no person as actor. Only the rows of a send name the person who requested the send.
"""
