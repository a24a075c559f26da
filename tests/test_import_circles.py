"""No import cycles in the core or its Python module; tests/test_package_circles.py checks the package."""

import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parent.parent


def test_rust_modules_have_no_import_circle() -> None:
    script = _ROOT / "scripts" / "check_import_circles.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "0 import circles\n"


def test_a_circle_of_rust_modules_is_found(tmp_path: Path) -> None:
    (tmp_path / "lib.rs").write_text("mod a;\nmod b;\n")
    (tmp_path / "a.rs").write_text("use crate::b::B;\npub struct A(B);\n")
    (tmp_path / "b.rs").write_text("pub struct B;\nimpl B { fn a(&self) -> super::a::A { todo!() } }\n")
    script = _ROOT / "scripts" / "check_import_circles.py"
    done = subprocess.run([sys.executable, str(script), str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 1
    assert "a <-> b" in done.stdout
