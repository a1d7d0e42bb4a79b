"""Values become memory: blocks, index functions, expansion, and the heap semantics (chapter 4)."""
