/// The reason why a restore compares a backup with nothing: the replaced database differs in everything, or cannot be
/// read.
package struct Incomparable: Error, Equatable {
    /// The reason, for people.
    package let reason: String

    /// Describes a reason.
    package init(_ reason: String) { self.reason = reason }

    /// Returns the reason that an error of reading the replaced database stands for. Throws the error if the error is
    /// no fault of the replaced database.
    package init(_ error: StoreError) throws {
        guard [.corrupt, .wrongKey, .missingKey].contains(error.code) else { throw error }
        self.init(error.reason)
    }

    /// Checks that a program with `known` migrations knows the replaced database.
    package static func check(_ schema: SchemaVersion, known: Int) throws {
        guard schema.isKnown(among: known) else { throw Self("it was written by a newer version") }
    }

    /// Checks that both databases make their names under the same secret.
    package static func check(namesAreOurs: Bool) throws {
        guard namesAreOurs else { throw Self("its names were made under another secret") }
    }

    /// Checks that the replaced database has the last entry of the backup's audit trail. `isContinuation` is `nil` if
    /// there is no answer.
    package static func check(isContinuation: Bool?) throws {
        guard isContinuation == true else { throw Self("it does not go on from this backup") }
    }

    /// Checks that the replaced database's audit trail is intact.
    package static func check(_ trail: AuditVerdict) throws {
        guard let number = trail.brokenAt else { return }
        throw Self("its audit trail is broken at entry \(number)")
    }
}

extension AuditVerdict {
    /// The number of the entry at which the trail is broken; `nil` if the trail is intact.
    package var brokenAt: Int64? {
        switch self {
        case .intact: nil
        case .broken(let number): number
        }
    }
}
