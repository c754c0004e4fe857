package import _Primitives

extension DispatchTargetChange {
    /// Returns the target after the change.
    ///
    /// Throws `notFound` if the account has no such target, and `conflict` if another phone has the new name.
    ///
    /// - Parameters:
    ///   - present: The target before the change.
    ///   - otherNames: The names of the account's other phones.
    package func applied(
        to present: DispatchTargetRecord?, among otherNames: [String]
    ) throws(StoreError) -> DispatchTargetRecord {
        guard var target = present, target.accountID.hasSameBytes(as: self.accountID) else {
            throw StoreError(.notFound, "the device is gone")
        }
        if let name = self.name {
            guard !otherNames.contains(name) else { throw StoreError(.conflict, "another phone's name") }
            target.name = name
        }
        if case .changed(let dispatcher) = self.dispatcher {
            if dispatcher != target.dispatcher { target.address = nil }
            target.dispatcher = dispatcher
            target.changedAt = self.audit.at
        }
        if case .changed(let address) = self.address {
            target.address = address
            target.changedAt = self.audit.at
        }
        target.isPushWanted = self.isPushWanted ?? target.isPushWanted
        return target
    }
}

extension DispatchTargetRecord {
    /// Returns the target after its provider has told that `address` is known no longer. `nil` if the target stays: the
    /// target has another address, or the device has stated the address after `moment`.
    package func ended(address: String, unlessChangedAfter moment: Timestamp?) -> DispatchTargetRecord? {
        guard let present = self.address, present.hasSameBytes(as: address),
            moment.map({ self.changedAt <= $0 }) ?? true
        else { return nil }
        var target = self
        target.dispatcher = nil
        target.address = nil
        return target
    }
}
