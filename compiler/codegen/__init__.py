"""From memory-annotated programs to text: the imperative IR, and one folder for each target."""
