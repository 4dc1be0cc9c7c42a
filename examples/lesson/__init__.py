"""Code shared by programs that explain: lessons with text, numbers and pictures, as pages and as plain text."""
