"""Requests of the analyst desk, which people make on a page and the process `prover` executes.

An operator must confirm a request to publish, shadow, cut over or roll back before it starts.
"""
