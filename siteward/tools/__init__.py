"""The tools of Investigate, as text and schema in `manifest.yaml`; their code goes here, one file for each."""
