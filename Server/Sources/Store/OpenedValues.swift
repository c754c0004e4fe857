import _Primitives

/// What sealed values say that were opened lately, of purposes whose values are opened again and again: a phone's keys and
/// name are read in every step of a session, and do not change.
///
/// A value is found by all of its bytes, its purpose and its row, hence exactly where opening it would give the same. It
/// need not be forgotten when a row changes: another value has other bytes.
struct OpenedValues: Sendable {
    private struct Opened {
        let sealed: [UInt8]
        let purpose: SealingPurpose
        let row: String
        let bytes: [UInt8]
    }

    /// Threads that look at the same moment seldom look into the same one.
    private let parts = (0..<16).map { _ in
        RecentValues<UInt64, Opened>(capacity: Limits.Fixed.keptOpenedValues / 16)
    }

    /// Where a value is looked for: by the last eight bytes of what AES-GCM puts at its end, as good as random. To hash all
    /// of a value would cost more than to open some.
    private static func place(of sealed: [UInt8]) -> UInt64 { sealed.suffix(8).reduce(0) { $0 << 8 | UInt64($1) } }

    private func part(_ place: UInt64) -> RecentValues<UInt64, Opened> {
        self.parts[Int(truncatingIfNeeded: place) & (self.parts.count - 1)]
    }

    /// What a value says; `nil` where it was not opened lately for this purpose and row.
    func value(_ sealed: [UInt8], _ purpose: SealingPurpose, _ row: String) -> [UInt8]? {
        guard purpose.isOpenedOften else { return nil }
        let place = Self.place(of: sealed)
        guard let opened = self.part(place).value(place), opened.sealed == sealed,
            opened.purpose.name.hasSameBytes(as: purpose.name), opened.row.hasSameBytes(as: row)
        else { return nil }
        return opened.bytes
    }

    /// Keeps what a value was found to say.
    func keep(_ bytes: [UInt8], of sealed: [UInt8], _ purpose: SealingPurpose, _ row: String) {
        guard purpose.isOpenedOften else { return }
        let place = Self.place(of: sealed)
        self.part(place).keep(Opened(sealed: sealed, purpose: purpose, row: row, bytes: bytes), for: place)
    }
}
