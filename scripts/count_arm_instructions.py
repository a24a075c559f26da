"""Counts the instructions that encoding takes on 64-bit ARM, under qemu, for each tier.

    cargo build --release -p pairloom-core --examples --target aarch64-unknown-linux-gnu
    python scripts/count_arm_instructions.py EXAMPLE_ENCODE VOCAB_JSON MERGES_TXT TEXT... [--sysroot FOLDER]

Needs qemu-aarch64 with plugins and a C compiler. A run with one measurement and a run with none differ only by
that measurement's work. Instructions are not time, but they can be compared without an ARM machine.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

PLUGIN = """
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
struct qemu_plugin_tb;
__attribute__((visibility("default"))) int qemu_plugin_version = 1;
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t, void (*)(uint64_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *, int, void *, uint64_t);
void qemu_plugin_register_atexit_cb(uint64_t, void (*)(uint64_t, void *), void *);
static uint64_t n;
static void block(uint64_t id, struct qemu_plugin_tb *tb) {
    qemu_plugin_register_vcpu_tb_exec_inline(tb, 0, &n, qemu_plugin_tb_n_insns(tb));
}
static void end(uint64_t id, void *data) { fprintf(stderr, "instructions %llu\\n", (unsigned long long)n); }
__attribute__((visibility("default")))
int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv) {
    qemu_plugin_register_vcpu_tb_trans_cb(id, block);
    qemu_plugin_register_atexit_cb(id, end, 0);
    return 0;
}
"""
FIGURES = ("encode, cold", "encode, warm", "count, warm")


def main() -> None:
    """Prints a table of instructions per byte."""
    parser = argparse.ArgumentParser(description="instructions of encoding on 64-bit ARM")
    parser.add_argument("encode", type=Path, help="the example program, built for aarch64")
    parser.add_argument("vocab")
    parser.add_argument("merges")
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--sysroot", default="/usr/aarch64-linux-gnu", help="where its C library lies")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plugin = Path(folder) / "count.so"
        source = plugin.with_suffix(".c")
        source.write_text(PLUGIN)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", plugin, source], check=True)
        print(f"| text | tier | {' | '.join(FIGURES)} |\n|---|---|{'---:|' * len(FIGURES)}")
        for text in options.texts:
            for tier, off in (("neon", ""), ("portable", "neon")):
                command = ["qemu-aarch64", "-L", options.sysroot, "-E", f"PAIRLOOM_DISABLE_CPU_FEATURES={off}"]
                command += ["-plugin", plugin, options.encode, options.vocab, options.merges, text]
                base, *found = (counted([*command, "--seconds", "0", "--only", only]) for only in ("nothing", *FIGURES))
                cells = [f"{(count - base) / text.stat().st_size:.1f}" for count in found]
                print(f"| {text.stem} | {tier} | {' | '.join(cells)} |")


def counted(command: list[str | Path]) -> int:
    """Returns how many instructions a command executes."""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.search(r"^instructions (\d+)", done.stderr, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"no count from qemu: {done.stderr[-500:]}")
    return int(found[1])


if __name__ == "__main__":
    main()
