"""Requests that people make on the analyst desk, and that the process `prover` executes.

An operator must confirm a request to publish, shadow, cut over or roll back before it starts.
"""
