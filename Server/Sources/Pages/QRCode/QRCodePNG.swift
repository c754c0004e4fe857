import CPNG

extension QRCode {
    /// The code as a PNG file of two colours, a bit a pixel, with its quiet zone.
    ///
    /// `scale` is the side of a module in pixels, from 1 to 64. Throws ``QRCodeError/Code/picture`` where the PNG library
    /// refuses or the scale is out of range. Cost: less than a millisecond for a dispatch's link, on a machine
    /// that is busy with others, and a third of what a byte a pixel took.
    public func png(scale: Int = 8) throws(QRCodeError) -> [UInt8] {
        guard (1...64).contains(scale) else { throw QRCodeError(.picture, "a scale of \(scale)") }
        let side = (self.width + 2 * Self.quietZone) * scale
        // Numbers of ``palette``: light everywhere, and then the dark modules.
        var pixels = [UInt8](repeating: 0, count: side * side)
        pixels.withUnsafeMutableBufferPointer { pixels in
            for row in 0..<self.width {
                let start = (row + Self.quietZone) * scale * side
                let first = UnsafeMutableBufferPointer(rebasing: pixels[start..<start + side])
                for column in 0..<self.width where self.modules[row * self.width + column] {
                    let left = (column + Self.quietZone) * scale
                    UnsafeMutableBufferPointer(rebasing: first[left..<left + scale]).update(repeating: 1)
                }
                for line in 1..<max(2, scale) where line < scale {
                    _ = UnsafeMutableBufferPointer(rebasing: pixels[(start + line * side)...]).update(from: first)
                }
            }
        }
        return try Self.png(pixels, side: side)
    }

    /// Shades of grey: light, dark.
    private static let palette: [UInt8] = [0xFF, 0]

    private static func png(_ pixels: [UInt8], side: Int) throws(QRCodeError) -> [UInt8] {
        var image = png_image()
        image.version = png_uint_32(PNG_IMAGE_VERSION)
        image.width = png_uint_32(side)
        image.height = png_uint_32(side)
        // PNG_FORMAT_FLAG_COLORMAP over PNG_FORMAT_GRAY, and PNG_IMAGE_FLAG_FAST: macros that are not imported. Of two
        // colours the library makes a bit a pixel.
        image.format = 0x08
        image.flags = 0x02
        image.colormap_entries = png_uint_32(Self.palette.count)
        defer { png_image_free(&image) }
        // What the library can write at most: an eighth of a byte a pixel, with room for each line's filter and the chunks.
        var size = png_alloc_size_t(side * (side / 8 + 16) + 1024)
        var file = [UInt8](repeating: 0, count: size)
        guard png_image_write_to_memory(&image, &file, &size, 0, pixels, 0, Self.palette) != 0 else {
            throw QRCodeError(.picture, "the PNG library gave code \(image.warning_or_error)")
        }
        return Array(file.prefix(size))
    }
}
