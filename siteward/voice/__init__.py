"""Phone lines, loudspeakers and the step `call`: what speaks with people and listens to them. Nothing stands here yet."""
