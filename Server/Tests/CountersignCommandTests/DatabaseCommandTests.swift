import ArgumentParser
import CeremonyEngine
import CountersignServer
import Foundation
import Logging
import Records
import SQLStore
import SQLiteStore
import Sealing
import ServiceLifecycle
import Settings
import Testing
import _Primitives

@testable import CountersignCommand

@Suite("countersign db: what it refuses, and its exit codes")
struct DatabaseCommandTests {
    private struct Place {
        let folder = "/tmp/countersign-\(UUID().uuidString.prefix(8))"

        var backup: String { self.folder + "/one.backup" }
        var data: DataFolder { DataFolder(path: self.folder + "/data") }

        init() async throws {
            let opened = try self.open()
            try await opened.database.createAccount(
                AccountRecord(id: "a", username: "alice", displayName: nil, createdAt: Timestamp(seconds: 1)),
                audit: AuditEvent(.init(rawValue: "account-created"), at: Timestamp(seconds: 1)))
            await opened.database.close()
            try self.data.keep(issuer: "https://id.example")
        }

        func open() throws -> OpenStore {
            try OpenStore(folder: self.data, keyFile: KeyFile(path: self.folder + "/key"), limits: .init())
        }

        func remove() { try? FileManager.default.removeItem(atPath: self.folder) }

        func run(_ arguments: String..., data: String? = nil, key: String? = nil) async throws {
            try await self.run(arguments, data: data, key: key)
        }

        func run(_ arguments: [String], data: String? = nil, key: String? = nil) async throws {
            let all =
                ["db"] + arguments + ["--data", data ?? self.data.path, "--key-file", key ?? self.folder + "/key"]
            var command = try #require(try Countersign.parseAsRoot(all) as? any AsyncParsableCommand)
            try await command.run()
        }
    }

    private func expect(_ status: CommandFailure.Status, _ words: String, _ body: () async throws -> Void) async {
        let failure = await #expect(throws: CommandFailure.self) { try await body() }
        #expect(failure?.status == status)
        #expect(failure?.description.contains(words) == true, "\(failure?.description ?? "")")
    }

    @Test("a backup goes into a new file outside the data folder, and needs the key file")
    func backup() async throws {
        let place = try await Place()
        defer { place.remove() }
        await self.expect(.usage, "lost with it") { try await place.run("backup", place.data.path + "/b") }
        await self.expect(.notFound, "no key file") { try await place.run("backup", place.backup, key: "/none/key") }
        await self.expect(.notFound, "no database") {
            try await place.run("backup", place.backup, data: place.folder + "/none")
        }
        try await place.run("backup", place.backup, "--json")
        await self.expect(.failed, "name another") { try await place.run("backup", place.backup) }
        let otherKey = place.folder + "/other-key"
        _ = try KeyFile(path: otherKey).keys(mayCreate: true, dataFolder: place.data.path)
        await self.expect(.failed, "--key-file") {
            try await place.run("backup", place.folder + "/two.backup", key: otherKey)
        }
    }

    @Test("a new key comes first in the key file, and a former one goes when nothing lies under it any more")
    func keys() async throws {
        let place = try await Place()
        defer { place.remove() }
        let file = KeyFile(path: place.folder + "/key")
        func present() throws -> KeyRing { try file.keys(mayCreate: false, dataFolder: place.data.path) }
        let first = try present().newest
        await self.expect(.notFound, "no key file") { try await place.run("add-key", key: "/none/key") }
        try await place.run("add-key")
        let both = try present()
        #expect(both.newest != first && both.former == [first])
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o600)
        // The server has not been started with it yet: it needs the former, and the first is not taken out.
        try await place.run("forget-keys")
        #expect(try present() == both)
        let opened = try place.open()
        try await place.run("forget-keys", "--json")
        #expect(try present() == both, "values lie under the former one still")
        let assembly = try await opened.assembly(.init(issuer: "https://id.example", facets: []))
        let (lines, writing) = AsyncStream.makeStream(of: String.self)
        let resealer = Resealer(assembly, logger: Logger(label: "test") { _ in HandedLog(lines: writing) })
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(services: [resealer], logger: Logger(label: "quiet")))
        async let running: Void = group.run()
        let said = await lines.first { $0.hasPrefix("Nothing is sealed under former") }
        #expect(said != nil)
        await group.triggerGracefulShutdown()
        try await running
        let entries = try await opened.database.auditEntries(after: 0, limit: 9).map(\.event)
        #expect(entries.last?.kind.rawValue == "key-encryption-key-replaced")
        #expect(entries.last?.detail == both.newest.identifier)
        // While the server runs.
        let command = try ForgetKeysCommand.parse(["--data", place.data.path, "--key-file", file.path])
        let outcome = try command.change()
        #expect(try present() == KeyRing(both.newest))
        // What is not needed here is needed by backups.
        let text = outcome.text(path: file.path)
        #expect(text.contains("Forgotten: \(first.identifier)"))
        #expect(text.contains("Backups that were made under \(first.identifier) open with nothing else"))
        #expect(try outcome.json.string("warning")?.contains(first.identifier) == true)
        let again = try command.change()
        #expect(again.warning == nil && again.json["warning"] == nil && again.forgotten.isEmpty)
        await opened.database.close()
        let reopened = try place.open()
        #expect(try await reopened.database.account(username: "alice")?.id == "a")
        await reopened.database.close()
    }

    @Test("one command at a time goes by the key file: another is told to wait, and changes nothing")
    func oneAtATime() async throws {
        let place = try await Place()
        defer { place.remove() }
        try await place.run("backup", place.backup)
        let file = KeyFile(path: place.folder + "/key")
        var lock = try file.lock()
        #expect(lock != nil)
        let before = try file.keys(mayCreate: false, dataFolder: place.data.path)
        for arguments in [["add-key"], ["forget-keys"], ["restore", place.backup, "--replace"]] {
            await self.expect(.failed, "another command uses the key file") { try await place.run(arguments) }
        }
        #expect(try file.keys(mayCreate: false, dataFolder: place.data.path) == before)
        // Looking changes nothing, and needs nobody's leave.
        try await place.run("restore", place.backup, "--check")
        lock = nil
        try await place.run("add-key")
        // The file is another one by now: its lock is free, too.
        try await place.run("add-key")
        #expect(try file.keys(mayCreate: false, dataFolder: place.data.path).former.count == 2)
        try await place.run("restore", place.backup, "--replace")
    }

    @Test("a server is not started without a former key that it needs, and is told which")
    func missingKey() async throws {
        let place = try await Place()
        defer { place.remove() }
        let file = KeyFile(path: place.folder + "/key")
        let first = try file.keys(mayCreate: false, dataFolder: place.data.path).newest
        try await place.run("add-key")
        await (try place.open()).database.close()
        let both = try file.keys(mayCreate: false, dataFolder: place.data.path)
        try file.replace(by: KeyRing(both.newest))
        await self.expect(.failed, "Put its line back") { _ = try place.open() }
        await self.expect(.failed, first.identifier) { _ = try place.open() }
        await self.expect(.failed, "below the first") { try await place.run("backup", place.backup) }
        await self.expect(.failed, first.identifier) { try await place.run("forget-keys") }
        try file.replace(by: both)
        await (try place.open()).database.close()
    }

    @Test("a restore asks before it replaces a database, refuses a folder in use, and gives a new folder its issuer")
    func restore() async throws {
        let place = try await Place()
        defer { place.remove() }
        try await place.run("backup", place.backup)
        await self.expect(.notFound, "no backup") { try await place.run("restore", place.folder + "/none") }
        await self.expect(.failed, "--replace") { try await place.run("restore", place.backup) }
        try await place.run("restore", place.backup, "--check")
        let opened = try place.open()
        await self.expect(.failed, "Stop the server") { try await place.run("restore", place.backup, "--replace") }
        try await place.run("restore", place.backup, "--check", "--undo-revocations", "--json")
        await opened.database.close()
        try await place.run("restore", place.backup, "--replace")

        let other = DataFolder(path: place.folder + "/other")
        try await place.run("restore", place.backup, data: other.path)
        #expect(other.issuer == "https://id.example")
        try Data("no backup".utf8).write(to: URL(fileURLWithPath: place.backup))
        await self.expect(.failed, "no whole backup") { try await place.run("restore", place.backup, "--replace") }
    }

    @Test("what root restores into another user's folder is that user's", .enabled(if: geteuid() == 0))
    func owner() async throws {
        let place = try await Place()
        defer { place.remove() }
        try await place.run("backup", place.backup)
        let other = DataFolder(path: place.folder + "/other")
        try FileManager.default.createDirectory(
            atPath: other.path, withIntermediateDirectories: false, attributes: [.ownerAccountID: 65_533])
        try await place.run("restore", place.backup, data: other.path)
        for name in ["issuer", "lock", "countersign.sqlite"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(other.path)/\(name)")
            #expect(attributes[.ownerAccountID] as? Int == 65_533, "\(name)")
        }
    }

    @Test("the report says what is void, what stays revoked and what is lost, to people and to scripts")
    func report() async throws {
        let place = try await Place()
        defer { place.remove() }
        try await place.run("backup", place.backup)
        let opened = try place.open()
        let now = Timestamp(seconds: 2)
        func event(_ kind: String) -> AuditEvent { AuditEvent(.init(rawValue: kind), at: now) }
        _ = try await opened.database.setAccountLocked(true, id: "a", audit: event("account-locked"))
        try await opened.database.createAccount(
            AccountRecord(id: "c", username: "carol", displayName: nil, createdAt: now),
            audit: event("account-created"))
        // More new people than anybody reads; a script is told of all.
        let many = (0..<Limits.Commands.shownChanges).map { "person-\($0)" }
        for name in many {
            try await opened.database.createAccount(
                AccountRecord(
                    id: name, username: AccountName(stored: name), displayName: nil, createdAt: now),
                audit: event("account-created"))
        }
        await opened.database.close()
        func report(_ arguments: String...) async throws -> RestoreReport {
            let all = [place.backup] + arguments + ["--data", place.data.path, "--key-file", place.folder + "/key"]
            return try await RestoreCommand.parse(all).restore()
        }

        let foreseen = try await report("--check")
        let text = foreseen.text(isCheck: true, revocations: .kept)
        for words in [
            "The backup is whole: 1 account, 0 devices, 0 clients", "22 later entries", "counters of 0 keys.",
            "so it stays:\n  account locked: alice [a]\n", "and lost:\n  account added: carol [c]\n",
            "\n  account added: person-18\n  account added: and 1 more (--json names them all)",
        ] { #expect(text.contains(words), "\(words)") }
        #expect(foreseen.text(isCheck: true, revocations: .undone).contains("now as it was before:"))
        var used = foreseen
        var change = try #require(foreseen.changes.first)
        (change.kind, change.id, change.name, change.isKept) = (.counterAdvanced, "k", "Phone of alice", true)
        (used.changes, used.comparison) = ([change], .compared(counters: 1, auditEntries: 2))
        for revocations in [DatabaseRestore.Revocations.kept, .undone] {
            let lines = used.text(isCheck: true, revocations: revocations)
            #expect(lines.contains("counters of 1 keys:\n  counter of a key: Phone of alice [k]"))
            #expect(!lines.contains("stays:") && !lines.contains("as it was before:"))
        }
        let json = foreseen.json(isCheck: true)
        #expect(json["restored"] == .bool(false) && json["compared"] == .bool(true))
        #expect(json["auditEntries"] == .integer(22))
        let changes = try (json.array("changes") ?? []).map { change in
            guard case .object(let change) = change else { throw JSONError(.wrongType, "a change") }
            return [change["kind"], change["id"], change["kept"]]
        }
        #expect(
            changes == [
                [.string("account-locked"), .string("a"), .bool(true)],
                [.string("account-added"), .string("c"), .bool(false)],
            ] + many.map { [.string("account-added"), .string($0), .bool(false)] })

        let done = try await report("--replace")
        #expect(done.changes == foreseen.changes)
        #expect(done.text(isCheck: false, revocations: .kept).contains("The database of before is in "))
        // What is no database is not compared with.
        try Data(repeating: 0x41, count: 9000).write(to: URL(fileURLWithPath: place.data.databasePath))
        let alone = try await report("--replace")
        #expect(alone.text(isCheck: false, revocations: .kept).contains("after \(alone.manifest.createdAt) is lost"))
        #expect(alone.json(isCheck: false)["compared"] == .bool(false))
        #expect(alone.json(isCheck: false)["reason"] != nil)
    }
}
