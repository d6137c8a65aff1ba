"""What the tabs share: parts with a script, kinds of events, the theme."""
