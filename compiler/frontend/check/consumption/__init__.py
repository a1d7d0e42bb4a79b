"""Nothing is used after it was consumed, and nothing is consumed that must stay."""
