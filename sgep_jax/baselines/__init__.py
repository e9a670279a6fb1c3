"""Other methods behind the same interface."""
