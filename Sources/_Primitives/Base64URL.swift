/// The base64url encoding without padding (RFC 4648, section 5).
///
/// The reader is strict: no `=`, no white space, no letter outside the alphabet. The unused bits of the last letter
/// must be zero, so a sequence of bytes has a single spelling.
public enum Base64URL {
    private static let alphabet: [UInt8] = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 0xFF, count: 256)
        for (value, letter) in alphabet.enumerated() { values[Int(letter)] = UInt8(value) }
        return values
    }()

    /// Returns the text of `bytes`, without padding.
    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        bytes.withContiguousStorageIfAvailable(self.encode(contiguous:))
            ?? Array(bytes).withUnsafeBufferPointer(self.encode(contiguous:))
    }

    // The function is not generic: a generic parameter that another module fills costs a look-up for every byte.
    private static func encode(contiguous bytes: UnsafeBufferPointer<UInt8>) -> String {
        let count = (bytes.count * 4 + 2) / 3
        return self.alphabet.withUnsafeBufferPointer { alphabet in
            String(unsafeUninitializedCapacity: count) { text in
                // Three bytes make four letters; the remaining bytes follow.
                let whole = bytes.count / 3
                for group in 0..<whole {
                    let buffer =
                        UInt32(bytes[3 * group]) << 16 | UInt32(bytes[3 * group + 1]) << 8
                        | UInt32(bytes[3 * group + 2])
                    text[4 * group] = alphabet[Int(buffer >> 18)]
                    text[4 * group + 1] = alphabet[Int(buffer >> 12 & 0x3F)]
                    text[4 * group + 2] = alphabet[Int(buffer >> 6 & 0x3F)]
                    text[4 * group + 3] = alphabet[Int(buffer & 0x3F)]
                }
                var written = 4 * whole
                var buffer: UInt32 = 0
                var bits: UInt32 = 0
                for byte in bytes[(3 * whole)...] {
                    buffer = (buffer << 8) | UInt32(byte)
                    bits += 8
                    while bits >= 6 {
                        bits -= 6
                        text[written] = alphabet[Int((buffer >> bits) & 0x3F)]
                        written += 1
                    }
                }
                if bits > 0 {
                    text[written] = alphabet[Int((buffer << (6 - bits)) & 0x3F)]
                    written += 1
                }
                return written
            }
        }
    }

    /// Returns the bytes of `text`; `nil` if the text is not the single unpadded spelling of some bytes.
    public static func decode(_ text: some StringProtocol) -> [UInt8]? {
        Self.decode(utf8: text.utf8)
    }

    /// Returns the bytes of letters given as bytes, otherwise as ``decode(_:)``.
    public static func decode(utf8 letters: some Collection<UInt8>) -> [UInt8]? {
        letters.withContiguousStorageIfAvailable(self.decode(contiguous:))
            ?? Array(letters).withUnsafeBufferPointer(self.decode(contiguous:))
    }

    private static func decode(contiguous letters: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard letters.count % 4 != 1 else { return nil }
        var isValid = true
        let bytes = self.values.withUnsafeBufferPointer { values in
            [UInt8](unsafeUninitializedCapacity: letters.count * 3 / 4) { bytes, written in
                // Four letters make three bytes; the remaining letters follow.
                let whole = letters.count / 4
                for group in 0..<whole {
                    let first = values[Int(letters[4 * group])]
                    let second = values[Int(letters[4 * group + 1])]
                    let third = values[Int(letters[4 * group + 2])]
                    let fourth = values[Int(letters[4 * group + 3])]
                    // The value of a letter never has one of the two upper bits.
                    guard (first | second | third | fourth) & 0xC0 == 0 else {
                        isValid = false
                        return
                    }
                    let buffer =
                        UInt32(first) << 18 | UInt32(second) << 12 | UInt32(third) << 6 | UInt32(fourth)
                    bytes[written] = UInt8(truncatingIfNeeded: buffer >> 16)
                    bytes[written + 1] = UInt8(truncatingIfNeeded: buffer >> 8)
                    bytes[written + 2] = UInt8(truncatingIfNeeded: buffer)
                    written += 3
                }
                var buffer: UInt32 = 0
                var bits: UInt32 = 0
                for letter in letters[(4 * whole)...] {
                    let value = values[Int(letter)]
                    guard value != 0xFF else {
                        isValid = false
                        return
                    }
                    buffer = (buffer << 6) | UInt32(value)
                    bits += 6
                    if bits >= 8 {
                        bits -= 8
                        bytes[written] = UInt8(truncatingIfNeeded: buffer >> bits)
                        written += 1
                    }
                }
                isValid = buffer & ((1 << bits) - 1) == 0
            }
        }
        return isValid ? bytes : nil
    }
}
