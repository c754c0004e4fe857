package import _Primitives

extension RandomSource {
    /// Returns an identifier of a grant that begins now: 22 letters of base64url, the first of them a letter of the
    /// alphabet. The identifier starts with the moment, to eight milliseconds, and has 88 random bits after it.
    ///
    /// Grants of one moment stand together in a store that is ordered by identifiers, so that many grants are few pages
    /// to write. A guessed identifier gives no access, and the tokens themselves tell when the grant began.
    package func grantIdentifier(at moment: Timestamp) -> String {
        var bytes = self.bytes(16)
        let stretch = moment.milliseconds >> 3
        for index in 0..<5 { bytes[index] = UInt8(truncatingIfNeeded: stretch >> (8 * (4 - index))) }
        bytes[0] &= 0x7F
        return Base64URL.encode(bytes)
    }
}
