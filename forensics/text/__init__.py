"""What any line of any log needs before it can be read: escapes, times, sizes, prefixes, damage."""
