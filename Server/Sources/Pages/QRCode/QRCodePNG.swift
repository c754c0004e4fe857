import CPNG

extension QRCode {
    /// The code as a PNG file in shades of grey, with its quiet zone.
    ///
    /// `scale` is the side of a module in pixels, from 1 to 64. Throws ``QRCodeError/Code/picture`` where the PNG library
    /// refuses or the scale is out of range.
    public func png(scale: Int = 8) throws(QRCodeError) -> [UInt8] {
        guard (1...64).contains(scale) else { throw QRCodeError(.picture, "a scale of \(scale)") }
        let side = (self.width + 2 * Self.quietZone) * scale
        var pixels = [UInt8](repeating: 0xFF, count: side * side)
        for row in 0..<self.width {
            for column in 0..<self.width where self.isDark(column, row) {
                let left = (column + Self.quietZone) * scale
                for line in 0..<scale {
                    let start = ((row + Self.quietZone) * scale + line) * side + left
                    for pixel in start..<start + scale { pixels[pixel] = 0 }
                }
            }
        }
        return try Self.png(grey: pixels, side: side)
    }

    private static func png(grey pixels: [UInt8], side: Int) throws(QRCodeError) -> [UInt8] {
        var image = png_image()
        image.version = png_uint_32(PNG_IMAGE_VERSION)
        image.width = png_uint_32(side)
        image.height = png_uint_32(side)
        image.format = 0  // PNG_FORMAT_GRAY: a macro that is not imported
        defer { png_image_free(&image) }
        // The library never writes more than the picture's bytes and an eighth, with room for the chunks' headers.
        var size = png_alloc_size_t(pixels.count + pixels.count / 8 + side + 1024)
        var file = [UInt8](repeating: 0, count: size)
        guard png_image_write_to_memory(&image, &file, &size, 0, pixels, 0, nil) != 0 else {
            throw QRCodeError(.picture, "the PNG library gave code \(image.warning_or_error)")
        }
        return Array(file.prefix(size))
    }
}
