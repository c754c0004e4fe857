import UAF

extension Transaction {
    /// The most characters (Unicode scalars) of a text (§14).
    private static let maximumTextLength = 200

    /// Whether the content is a text: UTF-8 of at most 200 characters, without control characters but the line feed
    /// (§14). The standard allows ASCII alone; others are usual, and how they read is for the app to judge.
    var isText: Bool {
        guard self.contentType == .textPlain, let text = String(validating: self.content, as: UTF8.self) else {
            return false
        }
        return (1...Self.maximumTextLength).contains(text.unicodeScalars.count)
            && text.unicodeScalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control }
    }

    /// Whether the content is a picture that one of the displays shows: drawn for that display, and a whole PNG file
    /// whose own header and palette say the same (§2.7, §14).
    func isPicture(for displays: [DisplayPNGCharacteristics]) -> Bool {
        guard self.contentType == .imagePNG, let claimed = self.pngCharacteristics,
            let picture = try? DisplayPNGCharacteristics(ofPNG: self.content)
        else { return false }
        return displays.contains { $0.shows(claimed) && $0.shows(picture) } && claimed.shows(picture)
    }
}
