import CZBar

extension Picture {
    /// Returns the text of the single QR code in the picture. The code may be a small part of the picture, as in a
    /// screenshot of a page.
    ///
    /// Throws ``PictureError`` if the picture has no code, or several codes with different texts.
    func qrCodeText() throws -> String {
        var texts = self.qrCodeTexts()
        if texts.isEmpty, self.points.count <= PhoneLimits.doubledPoints { texts = self.doubled.qrCodeTexts() }
        guard let first = texts.first else { throw PictureError.noCode }
        guard texts.count == 1 else { throw PictureError.severalCodes }
        return first
    }

    /// Returns the different texts of all readable QR codes.
    private func qrCodeTexts() -> Set<String> {
        guard let scanner = zbar_image_scanner_create() else { return [] }
        defer { zbar_image_scanner_destroy(scanner) }
        zbar_image_scanner_set_config(scanner, ZBAR_NONE, ZBAR_CFG_ENABLE, 0)
        zbar_image_scanner_set_config(scanner, ZBAR_QRCODE, ZBAR_CFG_ENABLE, 1)
        guard let image = zbar_image_create() else { return [] }
        defer { zbar_image_destroy(image) }
        // The format is four letters in one number: Y800, a byte of brightness for each point.
        zbar_image_set_format(image, UInt("008Y".utf8.reduce(0) { $0 << 8 | UInt32($1) }))
        zbar_image_set_size(image, UInt32(self.width), UInt32(self.height))
        return self.points.withUnsafeBytes { buffer in
            zbar_image_set_data(image, buffer.baseAddress, UInt(buffer.count), nil)
            guard zbar_scan_image(scanner, image) > 0 else { return [] }
            var texts: Set<String> = []
            var symbol = zbar_image_first_symbol(image)
            while let found = symbol {
                if let data = zbar_symbol_get_data(found) {
                    let length = Int(zbar_symbol_get_data_length(found))
                    let bytes = UnsafeRawBufferPointer(start: data, count: length)
                    texts.insert(String(decoding: bytes, as: UTF8.self))
                }
                symbol = zbar_symbol_next(found)
            }
            return texts
        }
    }
}
