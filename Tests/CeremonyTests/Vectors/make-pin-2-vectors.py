#!/usr/bin/env python3
"""Writes pin-2.json: keys of the PIN scheme `pin/2`, by RFC 9497 and RFC 9380 written out here.

Nothing of the product is used, and the example of RFC 9497, appendix A.4.2, is tried first. Use: make-pin-2-vectors.py > pin-2.json
"""

import hashlib
import hmac
import importlib.util
import io
import json
import pathlib
from contextlib import redirect_stdout

P = 2**384 - 2**128 - 2**96 + 2**32 - 1
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFC7634D81F4372DDF581A0DB248B0A77AECEC196ACCC52973
A = P - 3
B = 0xB3312FA7E23EE7E4988E056BE3F82D19181D9C6EFE8141120314088F5013875AC656398D8A2ED19D2A85C8EDD3EC2AEF
G = (0xAA87CA22BE8B05378EB1C71EF320AD746E1D3B628BA79B9859F741E082542A385502F25DBF55296C3A545E3872760AB7,
     0x3617DE4A96262C6F5D9E98BF9292DC29F8F41DBD289A147CE9DA3113B5F0B8C00A60B1CE1D7E819D7A431D7C90EA0E5F)
Z = P - 12
CONTEXT = b"OPRFV1-\1-P384-SHA384"


def load_pin_1():
    """P-256 and HKDF of the program beside this one."""
    path = pathlib.Path(__file__).with_name("make-pin-vectors.py")
    spec = importlib.util.spec_from_file_location("pin_1", path)
    module = importlib.util.module_from_spec(spec)
    with redirect_stdout(io.StringIO()):
        spec.loader.exec_module(module)
    return module


def add(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0] and (a[1] + b[1]) % P == 0:
        return None
    slope = ((3 * a[0] * a[0] + A) * pow(2 * a[1], -1, P) if a == b else (b[1] - a[1]) * pow(b[0] - a[0], -1, P)) % P
    x = (slope * slope - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def multiply(scalar, point):
    result = None
    while scalar:
        if scalar & 1:
            result = add(result, point)
        point, scalar = add(point, point), scalar >> 1
    return result


def encoded(point):
    return bytes([2 + point[1] % 2]) + point[0].to_bytes(48, "big")


def expand(message, tag, count):
    """expand_message_xmd with SHA-384 (RFC 9380, section 5.3.1)."""
    tag += bytes([len(tag)])
    first = hashlib.sha384(bytes(128) + message + count.to_bytes(2, "big") + b"\0" + tag).digest()
    block = hashlib.sha384(first + b"\1" + tag).digest()
    output = block
    for number in range(2, -(-count // 48) + 1):
        mixed = bytes(a ^ b for a, b in zip(first, block))
        block = hashlib.sha384(mixed + bytes([number]) + tag).digest()
        output += block
    return output[:count]


def mapped(u):
    """The simplified SWU map (RFC 9380, section 6.6.2)."""
    t = (Z * Z * pow(u, 4, P) + Z * u * u) % P
    x = (-B * pow(A, -1, P) * (1 + pow(t, -1, P)) if t else B * pow(Z * A, -1, P)) % P
    square = (x**3 + A * x + B) % P
    y = pow(square, (P + 1) // 4, P)
    if y * y % P != square:
        x = Z * u * u * x % P
        y = pow((x**3 + A * x + B) % P, (P + 1) // 4, P)
    return x, y if y % 2 == u % 2 else P - y


def to_group(message):
    uniform = expand(message, b"HashToGroup-" + CONTEXT, 144)
    return add(*(mapped(int.from_bytes(part, "big") % P) for part in (uniform[:72], uniform[72:])))


def evaluate(key, message):
    """Evaluate (RFC 9497, section 3.3.2)."""
    element = encoded(multiply(key, to_group(message)))
    return hashlib.sha384(
        len(message).to_bytes(2, "big") + message + len(element).to_bytes(2, "big") + element + b"Finalize").digest()


def hkdf384(material, info):
    key = hmac.new(bytes(48), material, "sha384").digest()
    return hmac.new(key, info + b"\1", "sha384").digest()


def vector(pin, secret, master, server, activation, version):
    stretched = hashlib.scrypt(pin.encode(), salt=secret, n=1 << 15, r=8, p=1, maxmem=1 << 30, dklen=32)
    service = int.from_bytes(hkdf384(master, b"countersign pin-service/1\0" + activation.encode()), "big")
    output = evaluate(service, stretched)
    info = (b"countersign pin/2\0" + PIN_1.field(server) + PIN_1.field(activation) + version.to_bytes(4, "big"))
    for counter in range(256):
        scalar = int.from_bytes(PIN_1.hkdf(stretched + output, info + bytes([counter]), 32), "big")
        if 1 <= scalar < PIN_1.N:
            break
    x, y = PIN_1.multiply(scalar)
    return {
        "pin": pin, "phoneHalf": secret.hex(), "master": master.hex(), "server": server, "activation": activation,
        "version": version, "serviceKey": encoded(multiply(service, G)).hex(),
        "privateKey": scalar.to_bytes(32, "big").hex(),
    }


PIN_1 = load_pin_1()
# RFC 9497, appendix A.4.2, test vector 1.
EXAMPLE = 0x051646B9E6E7A71AE27C1E1D0B87B4381DB6D3595EEEB1ADB41579ADBF992F4278F9016EAFC944EDAA2B43183581779D
assert encoded(multiply(EXAMPLE, G)).hex().startswith("031d689686c611991b55"), encoded(multiply(EXAMPLE, G)).hex()
assert evaluate(EXAMPLE, b"\0").hex().startswith("3333230886b562ffb8329a8be08f"), evaluate(EXAMPLE, b"\0").hex()
MASTER = bytes(range(48))
SECRET = bytes(range(32))
print(json.dumps([
    vector("123456", SECRET, MASTER, "https://id.example.com", "activation-1", 1),
    vector("123457", SECRET, MASTER, "https://id.example.com", "activation-1", 1),
    vector("123456", SECRET, MASTER, "https://id.example.com", "activation-1", 2),
    vector("123456", SECRET, MASTER, "https://id.example.com", "activation-2", 1),
    vector("123456", SECRET, bytes(48), "https://id.example.com", "activation-1", 1),
    vector("123456", bytes(32), MASTER, "https://id.example.com", "activation-1", 1),
], indent=1))
