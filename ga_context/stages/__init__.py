"""The stages of the pipeline, a file each; their order is in ``pipeline.STAGES``."""
