import Records
import Settings
import _Primitives

/// The plaintext of sealed values that were opened recently, for purposes whose values are opened again and again. A
/// phone's keys and name are read in every step of a session, and do not change.
///
/// A value is found by all of its bytes, its purpose and its row. So a value is found exactly when opening it would
/// give the same plaintext. A changed row needs no removal here, because the new sealed value has other bytes.
struct OpenedValues: Sendable {
    private struct Opened {
        let sealed: [UInt8]
        let purpose: SealingPurpose
        let row: String
        let bytes: [UInt8]
    }

    /// The parts of the memory. Threads that look at the same moment seldom use the same part.
    private let parts = (0..<16).map { _ in
        RecentValues<UInt64, Opened>(capacity: Limits.Fixed.keptOpenedValues / 16)
    }

    /// Returns the place of a value in the memory: the last eight bytes of the tag that AES-GCM puts at the end of a
    /// value, as good as random. Hashing the whole value would sometimes cost more than opening it.
    private static func place(of sealed: [UInt8]) -> UInt64 { sealed.suffix(8).reduce(0) { $0 << 8 | UInt64($1) } }

    private func part(_ place: UInt64) -> RecentValues<UInt64, Opened> {
        self.parts[Int(truncatingIfNeeded: place) & (self.parts.count - 1)]
    }

    /// Returns the plaintext of a value; `nil` if the value was not opened recently for this purpose and row.
    func value(_ sealed: [UInt8], _ purpose: SealingPurpose, _ row: String) -> [UInt8]? {
        guard purpose.isOpenedOften else { return nil }
        let place = Self.place(of: sealed)
        guard let opened = self.part(place).value(place), opened.sealed == sealed,
            opened.purpose.name.hasSameBytes(as: purpose.name), opened.row.hasSameBytes(as: row)
        else { return nil }
        return opened.bytes
    }

    /// Keeps the plaintext of a value.
    func keep(_ bytes: [UInt8], of sealed: [UInt8], _ purpose: SealingPurpose, _ row: String) {
        guard purpose.isOpenedOften else { return }
        let place = Self.place(of: sealed)
        self.part(place).keep(Opened(sealed: sealed, purpose: purpose, row: row, bytes: bytes), for: place)
    }
}
