"""What the address of the page shows while the libraries and the models are loaded."""
