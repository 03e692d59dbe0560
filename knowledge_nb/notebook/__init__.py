"""What a notebook shows: frames, forms, charts, escaping."""
