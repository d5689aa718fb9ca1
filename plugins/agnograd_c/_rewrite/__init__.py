"""Rewrites programs, so that C computes more of them, in less memory."""
