public import Records

/// The result of a restore, and the differences from the replaced database.
public struct RestoreReport: Sendable, Equatable {
    /// A difference between the replaced database and the backup.
    public struct Change: Sendable, Equatable {
        /// The event that had happened.
        public var kind: BackupDifference
        /// The identifier of the affected item.
        public var id: String
        /// The item's name for people: a user name, a device and its owner, a client's name.
        public var name: String
        /// `true` if the restored database has the change, too.
        public var isKept: Bool
    }

    /// The result of the comparison with the replaced database.
    public enum Comparison: Sendable, Equatable {
        /// The folder had no database.
        case nothingThere
        /// The database could not be read, or does not continue the backup: nothing is taken over from it, and
        /// ``RestoreReport/changes`` is empty.
        case notComparable(reason: String)
        /// The databases were compared. ``RestoreReport/changes`` has every difference of the kinds in
        /// ``BackupDifference``. `counters` is the number of keys that kept the later signature counter of the replaced
        /// database. `auditEntries` is the number of entries that came from the replaced database's audit trail.
        case compared(counters: Int, auditEntries: Int)
    }

    /// The numbers of voided items.
    public struct Voided: Sendable, Equatable {
        public var ceremonies = 0
        public var authorizationRequests = 0
        public var codesAndTokens = 0
        public var sessions = 0
        public var administratorTokens = 0
        public var pendingDevices = 0
    }

    /// The backup.
    public var manifest: BackupManifest
    /// The items that do not work any more.
    public var voided: Voided
    /// The result of the comparison with the replaced database.
    public var comparison: Comparison
    /// The known events since the backup; empty if the databases were not compared.
    public var changes: [Change]
    /// The entry at which the backup's audit trail is broken; `nil` if the trail is intact.
    public var auditBrokenAt: Int64?
    /// The folder of the replaced database; `nil` if no database was replaced, and after a mere check.
    public var replacedFolder: String?
}

extension RestoreReport {
    /// Returns the words of the audit trail about the revocations since the backup.
    func auditDetail(keepsRevocations isKept: Bool) -> String {
        switch self.comparison {
        case .nothingThere, .notComparable: "not-compared"
        case .compared: isKept ? "revocations-kept" : "revocations-undone"
        }
    }
}
