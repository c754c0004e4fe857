import _Primitives

extension RandomSource {
    /// An identifier of a grant that begins now: 22 letters of base64url, the first of them a letter of the alphabet. Behind
    /// the moment, to eight milliseconds, it has 88 random bits.
    ///
    /// Grants of one moment stand together where they are kept by their identifiers, so that many of them are few pages to
    /// write. Whoever guesses one has nothing by it, and when it began its tokens say themselves.
    func grantIdentifier(at moment: Timestamp) -> String {
        var bytes = self.bytes(16)
        let stretch = moment.milliseconds >> 3
        for index in 0..<5 { bytes[index] = UInt8(truncatingIfNeeded: stretch >> (8 * (4 - index))) }
        bytes[0] &= 0x7F
        return Base64URL.encode(bytes)
    }
}
