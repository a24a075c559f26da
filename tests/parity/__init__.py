import sys

from tests.cases import ROOT

sys.path.append(str(ROOT / "benchmarks"))

from corpora import prose as prose
