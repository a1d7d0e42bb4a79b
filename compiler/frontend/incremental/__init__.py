"""Check a text again after an edit: parse and check only what the edit can have changed."""
