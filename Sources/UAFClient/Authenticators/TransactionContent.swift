import UAF

extension Transaction {
    /// The most characters (Unicode scalars) of a text (§14).
    private static let maximumTextLength = 200

    /// `true` if the content is a text: UTF-8 of at most 200 characters, without control characters but the line feed
    /// (§14).
    ///
    /// The standard allows only ASCII, but other characters are usual. The app decides if a text is readable.
    var isText: Bool {
        guard self.contentType == .textPlain, let text = String(validating: self.content, as: UTF8.self) else {
            return false
        }
        return (1...Self.maximumTextLength).contains(text.unicodeScalars.count)
            && text.unicodeScalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control }
    }

    /// Returns `true` if the content is a picture for one of the displays: a picture drawn for this display, and a
    /// complete PNG file with the same characteristics in its own header and palette (§2.7, §14).
    func isPicture(for displays: [DisplayPNGCharacteristics]) -> Bool {
        guard self.contentType == .imagePNG, let claimed = self.pngCharacteristics,
            let picture = try? DisplayPNGCharacteristics(ofPNG: self.content)
        else { return false }
        return displays.contains { $0.shows(claimed) && $0.shows(picture) } && claimed.shows(picture)
    }
}
