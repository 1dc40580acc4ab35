"""Printers: a program as text in another language."""
