"""IMP, the imperative IR (thesis, figure 4.12): nodes, text form, and its parser."""
