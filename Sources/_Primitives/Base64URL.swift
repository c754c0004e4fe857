/// The base64url alphabet without padding (RFC 4648, section 5).
///
/// The reader is strict: no `=`, no white space, no letter outside the alphabet, and the unused bits of the last letter
/// must be zero, so that one sequence of bytes has one spelling.
public enum Base64URL {
    private static let alphabet: [UInt8] = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 0xFF, count: 256)
        for (value, letter) in alphabet.enumerated() { values[Int(letter)] = UInt8(value) }
        return values
    }()

    /// The text of `bytes`, without padding.
    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        bytes.withContiguousStorageIfAvailable(self.encode(contiguous:))
            ?? Array(bytes).withUnsafeBufferPointer(self.encode(contiguous:))
    }

    // Not generic: what another module calls by a generic parameter costs a look-up for every byte.
    private static func encode(contiguous bytes: UnsafeBufferPointer<UInt8>) -> String {
        let count = (bytes.count * 4 + 2) / 3
        return self.alphabet.withUnsafeBufferPointer { alphabet in
            String(unsafeUninitializedCapacity: count) { text in
                var buffer: UInt32 = 0
                var bits: UInt32 = 0
                var written = 0
                for byte in bytes {
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

    /// The bytes of `text`, or `nil` where it is not the one unpadded spelling of some bytes.
    public static func decode(_ text: some StringProtocol) -> [UInt8]? {
        Self.decode(utf8: text.utf8)
    }

    /// As ``decode(_:)``, from the letters' bytes.
    public static func decode(utf8 letters: some Collection<UInt8>) -> [UInt8]? {
        letters.withContiguousStorageIfAvailable(self.decode(contiguous:))
            ?? Array(letters).withUnsafeBufferPointer(self.decode(contiguous:))
    }

    private static func decode(contiguous letters: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard letters.count % 4 != 1 else { return nil }
        var isValid = true
        let bytes = self.values.withUnsafeBufferPointer { values in
            [UInt8](unsafeUninitializedCapacity: letters.count * 3 / 4) { bytes, written in
                var buffer: UInt32 = 0
                var bits: UInt32 = 0
                for letter in letters {
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
