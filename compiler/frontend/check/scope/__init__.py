"""What names stand for, and the checker's state."""
