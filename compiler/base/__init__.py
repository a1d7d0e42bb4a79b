"""What every other folder uses and what knows nothing about programs: spans, errors, remarks."""
