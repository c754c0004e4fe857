import UAF

/// The readings that a strict server does not make, by the names that an operator allows them with.
enum LenientNames {
    private static let flags: [String: any WritableKeyPath<LenientReadings, Bool> & Sendable] = [
        "row2Base64": \.row2Base64,
        "row3SignedDataAnywhere": \.row3SignedDataAnywhere,
        "row18ExpiredCertificates": \.row18ExpiredCertificates,
        "row20UnmarkedIssuers": \.row20UnmarkedIssuers,
        "row26ShortNonces": \.row26ShortNonces,
        "section2NoChannelBinding": \.section2NoChannelBinding,
        "section7EmptyFacetID": \.section7EmptyFacetID,
    ]
    private static let vendorTag = "row21VendorTag"

    /// The strict readings but for those that are named. `row21VendorTag:3FFC` is one tag of a vendor, in hexadecimal.
    ///
    /// Throws ``CommandFailure`` for another name.
    static func readings(_ names: [String]) throws -> LenientReadings {
        var readings = LenientReadings()
        for name in names {
            if let path = self.flags[name] {
                readings[keyPath: path] = true
            } else if name.hasPrefix(self.vendorTag + ":"),
                let number = UInt16(name.dropFirst(self.vendorTag.count + 1), radix: 16)
            {
                readings.row21VendorTags.insert(TLVTag(rawValue: number))
            } else {
                let known = self.flags.keys.sorted() + ["\(self.vendorTag):HEX"]
                throw CommandFailure(
                    .usage, "there is no lenient reading \(name)",
                    remedy: "There are: \(known.joined(separator: ", ")).")
            }
        }
        return readings
    }
}
