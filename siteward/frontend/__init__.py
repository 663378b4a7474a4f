"""The pages: native modules, a style sheet and what they are served with. There is no Python here but this line."""
