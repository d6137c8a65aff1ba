"""The About tab: what runs here."""
