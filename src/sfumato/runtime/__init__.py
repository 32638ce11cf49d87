"""Processes, threads, machine code."""
