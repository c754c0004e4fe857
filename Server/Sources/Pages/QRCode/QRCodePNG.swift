import CZlib

extension QRCode {
    /// Returns the code as a PNG file (ISO/IEC 15948) of two colours, with a bit for each pixel and with the quiet
    /// zone.
    ///
    /// `scale` is the side of a module in pixels, from 1 to 64. Throws ``QRCodeError/Code/picture`` if the scale is out
    /// of range, or if memory runs out. Cost: a quarter of a millisecond for a dispatch's link, most of the time for
    /// zlib, on a machine with other work.
    public func png(scale: Int = 8) throws(QRCodeError) -> [UInt8] {
        guard (1...64).contains(scale) else { throw QRCodeError(.picture, "a scale of \(scale)") }
        let side = (self.width + 2 * Self.quietZone) * scale
        // One bit for each pixel, and palette colours. The next two zeros name the only compression and filter method
        // of PNG. The last zero means: no interlacing.
        let header = Self.bigEndian(side) + Self.bigEndian(side) + [1, 3, 0, 0, 0]
        return Self.signature + Self.chunk("IHDR", header) + Self.chunk("PLTE", Self.palette)
            + Self.chunk("IDAT", try Self.compressed(self.lines(scale: scale, side: side))) + Self.chunk("IEND", [])
    }

    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    /// White for light modules, and black for dark modules.
    private static let palette: [UInt8] = [0xFF, 0xFF, 0xFF, 0, 0, 0]

    /// Returns the picture's lines from the top, with a set bit for a dark pixel. The first byte of each line names the
    /// line's filter: none.
    private func lines(scale: Int, side: Int) -> [UInt8] {
        let light = [UInt8](repeating: 0, count: 1 + (side + 7) / 8)
        var lines: [UInt8] = []
        lines.reserveCapacity(side * light.count)
        for row in -Self.quietZone..<self.width + Self.quietZone {
            var line = light
            for column in 0..<self.width where self.isDark(column, row) {
                let left = (column + Self.quietZone) * scale
                for pixel in left..<left + scale { line[1 + pixel / 8] |= 0x80 >> UInt8(pixel % 8) }
            }
            for _ in 0..<scale { lines += line }
        }
        return lines
    }

    private static func compressed(_ bytes: [UInt8]) throws(QRCodeError) -> [UInt8] {
        var size = compressBound(uLong(bytes.count))
        var compressed = [UInt8](repeating: 0, count: Int(size))
        let result = compress2(&compressed, &size, bytes, uLong(bytes.count), Z_BEST_SPEED)
        guard result == Z_OK else { throw QRCodeError(.picture, "zlib gave code \(result)") }
        return Array(compressed.prefix(Int(size)))
    }

    /// Returns a chunk with the length before the content and the checksum behind the content.
    private static func chunk(_ name: StaticString, _ content: [UInt8]) -> [UInt8] {
        let checked = Array(name.description.utf8) + content
        return Self.bigEndian(content.count) + checked + Self.bigEndian(Int(crc32(0, checked, uInt(checked.count))))
    }

    private static func bigEndian(_ number: Int) -> [UInt8] {
        stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}
