"""The Play tab."""
