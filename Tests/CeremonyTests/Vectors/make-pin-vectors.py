#!/usr/bin/env python3
"""Writes pin-1.json: keys of the PIN scheme `pin/1`, by the Python library's scrypt and HMAC and by P-256 written out here.

Nothing of the product is used. Use: make-pin-vectors.py > pin-1.json
"""

import hashlib
import hmac
import json

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
G = (0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
     0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5)


def add(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0] and (a[1] + b[1]) % P == 0:
        return None
    if a == b:
        slope = (3 * a[0] * a[0] - 3) * pow(2 * a[1], -1, P) % P
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, P) % P
    x = (slope * slope - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def multiply(scalar):
    result, point = None, G
    while scalar:
        if scalar & 1:
            result = add(result, point)
        point, scalar = add(point, point), scalar >> 1
    return result


def hkdf(material, info, count):
    key = hmac.new(bytes(32), material, "sha256").digest()
    block, output = b"", b""
    for number in range(1, 256):
        block = hmac.new(key, block + info + bytes([number]), "sha256").digest()
        output += block
        if len(output) >= count:
            return output[:count]


def field(text):
    return len(text.encode()).to_bytes(2, "big") + text.encode()


def vector(pin, secret, server, activation, version, rounds, block_size, parallelism):
    stretched = hashlib.scrypt(
        pin.encode(), salt=secret, n=rounds, r=block_size, p=parallelism, maxmem=1 << 30, dklen=32)
    info = b"countersign pin/1\0" + field(server) + field(activation) + version.to_bytes(4, "big")
    for counter in range(256):
        scalar = int.from_bytes(hkdf(stretched, info + bytes([counter]), 32), "big")
        if 1 <= scalar < N:
            break
    x, y = multiply(scalar)
    assert (y * y - (x**3 - 3 * x + 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B)) % P == 0
    return {
        "pin": pin, "phoneHalf": secret.hex(), "server": server, "activation": activation, "version": version,
        "rounds": rounds, "blockSize": block_size, "parallelism": parallelism, "counter": counter,
        "privateKey": scalar.to_bytes(32, "big").hex(), "publicKey": (b"\4" + x.to_bytes(32, "big") + y.to_bytes(32, "big")).hex(),
    }


SERVER = "https://id.example.com"
SECRET = bytes(range(32))
print(json.dumps([
    vector("123456", SECRET, SERVER, "activation-1", 1, 1 << 15, 8, 1),
    vector("123457", SECRET, SERVER, "activation-1", 1, 1 << 15, 8, 1),
    vector("123456", bytes(32), SERVER, "activation-1", 1, 1 << 15, 8, 1),
    vector("123456", SECRET, "https://id.example.org", "activation-1", 1, 1 << 15, 8, 1),
    vector("123456", SECRET, SERVER, "activation-2", 1, 1 << 15, 8, 1),
    vector("123456", SECRET, SERVER, "activation-1", 2, 1 << 15, 8, 1),
    vector("00000", SECRET, SERVER, "a", 2**32 - 1, 1 << 16, 8, 2),
    vector("98765432109876543210987654321098", hashlib.sha256(b"device").digest(), SERVER + ":8443", "A" * 64, 7, 1 << 15, 16, 1),
], indent=1))
