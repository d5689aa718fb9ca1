"""Passes: each returns a program that computes the same in less time or memory."""
