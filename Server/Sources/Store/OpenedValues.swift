import _Primitives

/// What sealed values say that were opened lately, of purposes whose values are opened again and again: a phone's keys and
/// name are read in every step of a session, and do not change.
///
/// A value is found by all of its bytes, its purpose and its row, hence exactly where opening it would give the same. It
/// need not be forgotten when a row changes: another value has other bytes.
struct OpenedValues: Sendable {
    private struct Opened {
        let purpose: SealingPurpose
        let row: String
        let bytes: [UInt8]
    }

    /// A sealed value by all of its bytes, spread by its tag: to hash all of them would cost more than to open some.
    private struct Sealed: Hashable {
        let bytes: [UInt8]
        /// What AES-GCM puts at the end, as good as random.
        private static let tagBytes = 16

        func hash(into hasher: inout Hasher) {
            self.bytes.withUnsafeBytes { bytes in
                hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: bytes.suffix(Self.tagBytes)))
            }
        }
    }

    private let values = RecentValues<Sealed, Opened>(capacity: Limits.Fixed.keptOpenedValues)

    /// What a value says; `nil` where it was not opened lately for this purpose and row.
    func value(_ sealed: [UInt8], _ purpose: SealingPurpose, _ row: String) -> [UInt8]? {
        guard purpose.isOpenedOften, let opened = self.values.value(Sealed(bytes: sealed)),
            opened.purpose.name.hasSameBytes(as: purpose.name), opened.row.hasSameBytes(as: row)
        else { return nil }
        return opened.bytes
    }

    /// Keeps what a value was found to say.
    func keep(_ bytes: [UInt8], of sealed: [UInt8], _ purpose: SealingPurpose, _ row: String) {
        guard purpose.isOpenedOften else { return }
        self.values.keep(Opened(purpose: purpose, row: row, bytes: bytes), for: Sealed(bytes: sealed))
    }
}
