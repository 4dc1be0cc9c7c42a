"""What programs that explain share: a lesson of text, numbers and pictures, as a page and as plain text."""
