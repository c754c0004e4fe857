import _Primitives

extension CeremonyRecord {
    /// Returns this ceremony as a later ceremony of the same reference leaves it: without the reference, and ended as
    /// cancelled unless it has ended. Throws ``StoreError/Code/conflict`` if another browser began this ceremony: no
    /// browser takes over another browser's sign-in.
    package func superseded(by later: CeremonyRecord) throws -> CeremonyRecord {
        guard constantTimeEqual(self.browserDigest ?? [], later.browserDigest ?? []) else {
            throw StoreError(.conflict, "another browser began this")
        }
        var ended = self
        ended.reference = nil
        guard ended.phase != .ended else { return ended }
        ended.phase = .ended
        ended.outcome = .cancelled
        ended.changedAt = later.createdAt
        // The person's input belongs to no account yet and is deleted, as with every end.
        ended.progress = nil
        return ended
    }

    /// Returns the reference of a ceremony that a change has ended, compared with the ceremony before the change. Returns
    /// `nil` if the change ends nothing, or if the ceremony has no reference any more.
    package func endedReference(before: CeremonyRecord) -> String? {
        self.phase == .ended && before.phase != .ended ? self.reference : nil
    }
}
