import Settings
package import _Primitives

extension AuditEvent {
    /// Returns the moment of the event in the trail. An event that is a little earlier than the entry before it gets
    /// that entry's moment (``Limits/Fixed/auditDisorder``).
    package func moment(after last: Timestamp?) -> Timestamp {
        guard let last, self.at < last, last - self.at <= Limits.Fixed.auditDisorder else { return self.at }
        return last
    }

    /// Returns the bytes over which the code of the event's entry is computed: the code of the entry before, and every
    /// field with its length.
    package func chained(at number: Int64, after previous: [UInt8]) -> [UInt8] {
        var bytes = previous
        bytes.reserveCapacity(256)
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: self.at.milliseconds.bigEndian) { bytes.append(contentsOf: $0) }
        var fields = [self.kind.rawValue, self.accountID, self.ceremonyID, self.actor, self.detail]
        // The sixth field is added only if the entry has an address: entries from before addresses existed keep their
        // codes.
        if let address = self.address { fields.append(address) }
        for field in fields {
            guard let field else {
                bytes.append(0)
                continue
            }
            bytes.append(1)
            withUnsafeBytes(of: UInt32(field.utf8.count).bigEndian) { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: field.utf8)
        }
        return bytes
    }
}

/// A check of an audit trail from its beginning, page by page.
package struct AuditTrailCheck: Sendable {
    /// Returns the code of a chain's bytes.
    private let code: @Sendable ([UInt8]) -> [UInt8]
    private var lastCode: [UInt8] = []
    /// The number of the last entry that follows from the entry before.
    package private(set) var number: Int64 = 0
    /// The verdict on the checked pages.
    package private(set) var verdict = AuditVerdict.intact(entries: 0)
    /// `true` if no page has to be checked any more: a page was broken, or no entry is left.
    package private(set) var isDone = false

    /// Begins a check.
    ///
    /// - Parameter code: Returns the code of the bytes of an entry (``AuditEvent/chained(at:after:)``).
    package init(code: @escaping @Sendable ([UInt8]) -> [UInt8]) { self.code = code }

    /// Checks the next page: the entries after ``number`` with their codes. An empty page is the end of the trail.
    package mutating func take(_ page: [(entry: AuditEntry, code: [UInt8])]) {
        self.isDone = page.isEmpty
        for row in page {
            let expected = self.code(row.entry.event.chained(at: self.number + 1, after: self.lastCode))
            guard row.entry.number == self.number + 1, constantTimeEqual(expected, row.code) else {
                self.isDone = true
                self.verdict = .broken(at: self.number + 1)
                return
            }
            (self.number, self.lastCode) = (row.entry.number, row.code)
        }
        self.verdict = .intact(entries: self.number)
    }
}

extension NoticeRecord.Kind {
    /// Reads the stored number. Throws ``StoreError`` `corrupt`.
    package init(stored number: Int) throws {
        guard let kind = Self(rawValue: number) else { throw StoreError(.corrupt, "a notice of an unknown kind") }
        self = kind
    }
}
