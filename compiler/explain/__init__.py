"""What the page shows beyond the text of a stage: cells, lifetimes, sharing, accesses, bounds."""
