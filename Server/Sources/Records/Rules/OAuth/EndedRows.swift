/// The rows that a step has ended, and the audit event for their end.
package struct EndedRows: Sendable, Equatable {
    /// The number of ended rows.
    package let count: Int
    /// The event to keep; `nil` if no row has ended. A request without an effect leaves no trace in the trail, which is
    /// kept for ever.
    package let event: AuditEvent?

    /// Judges the number of ended rows. `event` is kept if any row has ended.
    package init(_ count: Int, event: AuditEvent) {
        self.count = count
        self.event = count > 0 ? event : nil
    }

    /// `true` if any row has ended.
    package var isAny: Bool { self.count > 0 }
}
