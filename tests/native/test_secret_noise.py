"""The generator of private noise is ChaCha20: test vectors of RFC 8439, appendix A.1."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[2] / "native"
PROGRAM = """
#include <cstdio>
#include <cstdlib>
#include "gossip/secret_noise.hpp"
int main(int, char** given) {  // the words of a key, the stream, the block
    widemargin::SecretNoise::Key key;
    for (int k = 0; k < 8; ++k) key[k] = std::uint32_t(std::strtoull(given[1 + k], nullptr, 16));
    widemargin::SecretNoise noise(key, std::strtoull(given[9], nullptr, 16));
    for (int skip = 16 * std::atoi(given[10]); skip > 0; --skip) noise.word();
    for (int k = 0; k < 16; ++k) {
        const std::uint32_t word = noise.word();
        for (int byte = 0; byte < 4; ++byte) std::printf("%02x", word >> (8 * byte) & 255);
    }
}
"""
ZERO = bytes(32)
# Key, nonce (its first four bytes are the upper half of the counter here: 0), block, key stream.
VECTORS = {
    "1": (
        ZERO, bytes(12), 0,
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
    ),
    "2": (
        ZERO, bytes(12), 1,
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
    ),
    "4": (
        b"\0\xff" + bytes(30), bytes(12), 2,
        "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
        "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096",
    ),
    "5": (
        ZERO, bytes(11) + b"\2", 0,
        "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7"
        "8a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None or not NATIVE.exists():
        pytest.skip("needs a C++ compiler and the sources")
    folder = tmp_path_factory.mktemp("chacha")
    (folder / "words.cpp").write_text(PROGRAM)
    command = [compiler, "-std=c++17", f"-I{NATIVE}", "words.cpp", "-o", "words"]
    subprocess.run(command, cwd=folder, check=True, timeout=120)
    return folder / "words"


@pytest.mark.parametrize("name", VECTORS)
def test_words_are_those_of_chacha20(program: Path, name: str) -> None:
    key, nonce, block, expected = VECTORS[name]
    assert nonce[:4] == bytes(4)
    words = [key[k : k + 4][::-1].hex() for k in range(0, 32, 4)]
    stream = nonce[4:][::-1].hex()
    ran = subprocess.run(
        [program, *words, stream, str(block)], capture_output=True, text=True, check=True
    )
    assert ran.stdout == expected
