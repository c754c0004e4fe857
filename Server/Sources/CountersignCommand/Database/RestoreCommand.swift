import ArgumentParser
import Foundation
import Records
import SQLiteStore
import Settings
import _Primitives

/// `countersign db restore`: replaces the database by a backup.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Put a backup into a data folder whose server is stopped.",
        discussion: """
            The backup is verified whole before anything changes. Sign-ins and transactions that wait, codes, sessions \
            and tokens of the past end; administrators get a new one-time link at the next start.

            What was revoked, locked or deleted since the backup stays so, where the database that is replaced can still \
            be read; --undo-revocations brings all of it back. Either way it is named, and that database is kept.

              countersign db restore /var/backups/countersign-2026-11-22.backup --check
              countersign db restore /var/backups/countersign-2026-11-22.backup --replace
            """
    )

    @Argument(help: "The backup.")
    var file: String

    @Flag(name: .long, help: "Put the backup in the place of the database that is there, which is kept beside it.")
    var replace = false

    @Flag(name: .long, help: "Bring back what was revoked, locked or deleted since the backup.")
    var undoRevocations = false

    @Flag(name: .long, help: "Verify the backup and say what a restore would do, but change nothing.")
    var check = false

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let report = try await self.restore()
        if self.options.json {
            Terminal.standardOutput(json: .object(report.json(isCheck: self.check)))
        } else {
            Terminal.standardOutput(report.text(isCheck: self.check, revocations: self.revocations))
        }
    }

    private var revocations: DatabaseRestore.Revocations { self.undoRevocations ? .undone : .kept }

    /// Restores, or reports the effects of a restore.
    func restore() async throws -> RestoreReport {
        let path = try self.options.backupPath(self.file)
        let folder = self.options.folder
        // No command may forget a key that the backup needs meanwhile: the present database needs other keys.
        let lock = try self.check ? nil : self.options.keys.lock()
        defer { withExtendedLifetime(lock) {} }
        let restore = DatabaseRestore(folder: folder.path, keys: try self.options.readKeys())
        let (isCheck, mayReplace, revocations) = (self.check, self.replace, self.revocations)
        let place = isCheck ? FileManager.default.temporaryDirectory.path : folder.path
        let progress = CopyProgress(isCheck ? "Checking" : "Restoring", folder: place) {
            $0.hasSuffix(".check") || $0.hasSuffix(".draft")
        }
        let size = (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int64) ?? 0
        do {
            let report = try await progress.during(expected: size) {
                let now = TimeSource.system.now()
                return isCheck
                    ? try restore.check(path, revocations: revocations, in: place, at: now)
                    : try restore.restore(path, revocations: revocations, mayReplace: mayReplace, at: now)
            }
            // The server's links point to the backup's address until the server starts with another address.
            if !isCheck, folder.issuer == nil, let issuer = report.manifest.issuer {
                try folder.keep(issuer: issuer)
            }
            return report
        } catch let error as StoreError {
            if error.code == .conflict {
                throw CommandFailure(
                    .failed, error.reason,
                    remedy: "Look with --check what a restore would change, then add --replace: the database is kept.")
            }
            throw self.options.failure(error, backup: path)
        }
    }
}

extension RestoreReport {
    /// Returns the report for a person.
    func text(isCheck: Bool, revocations: DatabaseRestore.Revocations) -> String {
        var lines = [
            isCheck
                ? "The backup is whole: \(self.manifest.summary). A restore would do this:"
                : "Restored: \(self.manifest.summary)."
        ]
        let voided = [
            (self.voided.ceremonies, "sign-ins, transactions and enrolments that wait or have just ended"),
            (self.voided.authorizationRequests, "authorization requests"),
            (self.voided.codesAndTokens, "codes and tokens of services"), (self.voided.sessions, "browser sessions"),
            (self.voided.administratorTokens, "administrators' tokens: the next start gives a one-time link"),
            (self.voided.pendingDevices, "devices that nobody had confirmed"),
        ].filter { $0.0 > 0 }
        lines.append("Of the past no ceremony, code, session or token works any more.")
        lines += voided.map { "  \($0) \($1)" }
        if let number = self.auditBrokenAt {
            lines.append(
                "The audit trail of the backup is broken at entry \(number): somebody had changed the database.")
        }
        lines += self.comparisonLines(revocations)
        if let folder = self.replacedFolder {
            lines.append("The database of before is in \(folder). Delete it when nobody needs it any more.")
        }
        return lines.joined(separator: "\n")
    }

    private func comparisonLines(_ revocations: DatabaseRestore.Revocations) -> [String] {
        let unknown = """
            What was revoked, locked, deleted or rotated after \(self.manifest.createdAt) is lost, and so are the later \
            counters of keys, by which a copied device shows. Compare with your last export of the audit trail \
            (`audit export --since`), and revoke, lock and delete again; rotate the signing key if it was \
            rotated since (`admin key rotate`, with `--seen` if others may have seen a key).
            """
        switch self.comparison {
        case .nothingThere: return [unknown]
        case .notComparable(let reason): return ["The database of before cannot be compared: \(reason).", unknown]
        case .compared(let counters, let auditEntries):
            return [
                "Kept from the database of before: \(auditEntries) later entries of the audit trail, and the later "
                    + "counters of \(counters) keys\(counters == 0 ? "." : ":")"
            ] + self.lines(of: .kept, below: nil)
                + self.lines(
                    of: .carriedOver,
                    below: revocations == .kept
                        ? "Revoked, locked, deleted or changed since the backup, and so it stays:"
                        : "Revoked, locked, deleted or changed since the backup, and now as it was before:")
                + self.lines(of: .lost, below: "New since the backup, and lost:")
                + self.lines(
                    of: .refused,
                    below: """
                        Changed since the backup, and not by the server: somebody has written the database. Not taken over:
                        """)
        }
    }

    /// Returns the lines about changes with the same treatment: for each kind the first changes, and the number of
    /// further changes.
    private func lines(of treatment: BackupDifference.Treatment, below title: String?) -> [String] {
        let changes = self.changes.filter { $0.kind.treatment == treatment }
        guard !changes.isEmpty else { return [] }
        let lines = BackupDifference.allCases.flatMap { kind -> [String] in
            let alike = changes.filter { $0.kind == kind }
            let shown = alike.prefix(Limits.Commands.shownChanges)
            return shown.map(\.line)
                + (alike.count > shown.count
                    ? ["  \(kind.words): and \(alike.count - shown.count) more (--json names them all)"] : [])
        }
        return (title.map { [$0] } ?? []) + lines
    }

    /// Returns the report for scripts.
    func json(isCheck: Bool) -> JSONObject {
        var object: JSONObject = [
            "restored": .bool(!isCheck), "backup": .object(self.manifest.json),
            "voided": .object([
                "ceremonies": .integer(Int64(self.voided.ceremonies)),
                "authorizationRequests": .integer(Int64(self.voided.authorizationRequests)),
                "codesAndTokens": .integer(Int64(self.voided.codesAndTokens)),
                "sessions": .integer(Int64(self.voided.sessions)),
                "administratorTokens": .integer(Int64(self.voided.administratorTokens)),
                "pendingDevices": .integer(Int64(self.voided.pendingDevices)),
            ]),
            "changes": .array(
                self.changes.map {
                    .object([
                        "kind": .string($0.kind.rawValue), "id": .string($0.id), "name": .string($0.name),
                        "kept": .bool($0.isKept),
                    ])
                }),
        ]
        switch self.comparison {
        case .nothingThere: object["compared"] = .bool(false)
        case .notComparable(let reason):
            object["compared"] = .bool(false)
            object["reason"] = .string(reason)
        case .compared(let counters, let auditEntries):
            object["compared"] = .bool(true)
            object["counters"] = .integer(Int64(counters))
            object["auditEntries"] = .integer(Int64(auditEntries))
        }
        object["auditBrokenAt"] = self.auditBrokenAt.map(JSON.integer)
        object["replacedFolder"] = self.replacedFolder.map(JSON.string)
        return object
    }
}

extension BackupDifference {
    fileprivate var words: String {
        switch self {
        case .accountDeleted: "account deleted"
        case .accountLocked: "account locked"
        case .deviceRevoked: "device revoked"
        case .deviceRested: "device reported as lost"
        case .keyDeregistered: "key deregistered"
        case .activationDisabled: "activation disabled by failed attempts"
        case .counterAdvanced: "counter of a key"
        case .clientDeleted: "client deleted"
        case .clientChanged: "client changed"
        case .accountChanged: "account changed"
        case .passwordChanged: "password or second factor changed"
        case .inventedAccountsSet: "document set"
        case .providerRemoved: "other provider removed"
        case .providerChanged: "other provider changed"
        case .identityUnlinked: "connection with another provider ended"
        case .serviceRemoved: "service of personalised identities removed"
        case .serviceChanged: "service of personalised identities changed"
        case .serviceAdded: "service of personalised identities set up"
        case .organisationRemoved: "organisation removed"
        case .organisationChanged: "organisation renamed"
        case .organisationAdded: "organisation added"
        case .rolesChanged: "roles or memberships changed"
        case .personalInformationChanged: "personal information changed"
        case .signingKeyAdded: "signing key of another algorithm made"
        case .signingKeyRotated: "signing key rotated"
        case .accountAdded: "account added"
        case .accountUnlocked: "account unlocked (it is locked again)"
        case .deviceAdded: "device enrolled"
        case .keyAdded: "key registered"
        case .clientAdded: "client registered"
        case .providerAdded: "other provider set up"
        case .identityLinked: "connection with another provider"
        case .clientChangedOutside: "client"
        case .accountChangedOutside: "account"
        case .inventedAccountsChangedOutside: "document"
        case .providerChangedOutside: "other provider"
        case .serviceChangedOutside: "service of personalised identities"
        case .organisationChangedOutside: "organisation"
        }
    }
}

extension RestoreReport.Change {
    fileprivate var line: String {
        let what = self.kind.words
        return self.name == self.id ? "  \(what): \(self.id)" : "  \(what): \(self.name) [\(self.id)]"
    }
}
