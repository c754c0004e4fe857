import UAF

extension Transaction {
    /// Whether the content is a picture that one of the displays shows: drawn for that display, and a whole PNG file
    /// whose own header and palette say the same (§2.7, §14).
    func isPicture(for displays: [DisplayPNGCharacteristics]) -> Bool {
        guard self.contentType == .imagePNG, let claimed = self.pngCharacteristics,
            let picture = try? DisplayPNGCharacteristics(ofPNG: self.content)
        else { return false }
        return displays.contains { $0.shows(claimed) && $0.shows(picture) } && claimed.shows(picture)
    }
}
