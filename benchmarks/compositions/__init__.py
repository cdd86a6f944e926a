"""The same chain as BLS model, as ensemble and as monolith, all on one server."""

from orchestrator.contract import MODEL

BLS, ENSEMBLE, MONOLITH = "bls", "ensemble", "monolith"
MODELS = {BLS: MODEL, ENSEMBLE: "plates_ensemble", MONOLITH: "plates_monolith"}
"""The model to call of each."""
WORKERS = {BLS: (MODEL,), ENSEMBLE: ("prepare", "crop", "decode"), MONOLITH: (MODELS[MONOLITH],)}
"""The Python models of each, which have processes of their own."""
OUTPUTS = ("coordinates", "texts", "text_scores", "detection_scores")
"""What every one answers, and all that is asked for where they are compared."""
