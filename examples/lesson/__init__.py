"""Shared by programs that explain: a lesson of text, numbers and pictures, as a page and as plain text."""
