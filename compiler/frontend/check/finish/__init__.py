"""The end of a definition: zonking, and checks of the whole."""
