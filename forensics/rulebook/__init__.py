"""Rules as data: their schema, how they are loaded, what makes the loader refuse them."""
