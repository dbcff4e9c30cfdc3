"""Reading and writing Ruby."""
