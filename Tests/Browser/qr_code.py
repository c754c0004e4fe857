"""Reads a QR code of a page with the library that the terminal phone reads it with."""

import ctypes
import re

GREY = int.from_bytes(b"Y800", "little")
# Numbers of the library: every kind of code, the kind of QR codes, and the setting that a kind is looked for.
EVERY_KIND, QR_CODE, ENABLE = 0, 64, 0


def text_of_svg(svg, scale=4):
    """What the code holds that is drawn as a path of dark runs, `M<x> <y>h<width>v1…`."""
    side = int(re.search(r'viewBox="0 0 (\d+) \d+"', svg).group(1))
    rows = [bytearray(b"\xff" * side) for _ in range(side)]
    for x, y, width in re.findall(r"M(\d+) (\d+)h(\d+)v1", svg):
        rows[int(y)][int(x) : int(x) + int(width)] = b"\x00" * int(width)
    pixels = b"".join(bytes(value for value in row for _ in range(scale)) * scale for row in rows)

    zbar = ctypes.CDLL("libzbar.so.0")
    for name, result in {
        "zbar_image_scanner_create": ctypes.c_void_p,
        "zbar_image_create": ctypes.c_void_p,
        "zbar_image_first_symbol": ctypes.c_void_p,
        "zbar_symbol_get_data": ctypes.c_char_p,
    }.items():
        getattr(zbar, name).restype = result
    scanner = ctypes.c_void_p(zbar.zbar_image_scanner_create())
    image = ctypes.c_void_p(zbar.zbar_image_create())
    try:
        # The terminal phone looks for QR codes alone, too. The dots of a QR code can look like a barcode of another kind.
        zbar.zbar_image_scanner_set_config(scanner, EVERY_KIND, ENABLE, 0)
        zbar.zbar_image_scanner_set_config(scanner, QR_CODE, ENABLE, 1)
        zbar.zbar_image_set_format(image, ctypes.c_ulong(GREY))
        zbar.zbar_image_set_size(image, side * scale, side * scale)
        zbar.zbar_image_set_data(image, pixels, ctypes.c_ulong(len(pixels)), None)
        assert zbar.zbar_scan_image(scanner, image) == 1, "not one code"
        symbol = ctypes.c_void_p(zbar.zbar_image_first_symbol(image))
        return zbar.zbar_symbol_get_data(symbol).decode()
    finally:
        zbar.zbar_image_destroy(image)
        zbar.zbar_image_scanner_destroy(scanner)
