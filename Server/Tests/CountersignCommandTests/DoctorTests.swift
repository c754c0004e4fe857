import Accounts
import CountersignServer
import Foundation
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@testable import CountersignCommand

@Suite("countersign doctor: what is wrong with a server's surroundings")
struct DoctorTests {
    /// A data folder whose server does not run, and settings for it.
    private final class Place: Sendable {
        let folder = "/tmp/countersign-\(UUID().uuidString.prefix(8))"
        let configuration: ServeConfiguration

        init(_ flags: [String: String] = [:]) async throws {
            self.configuration = try await ServeConfiguration.load(
                file: nil,
                flags: ["data": self.folder + "/data", "keyFile": self.folder + "/key"].merging(flags) { $1 },
                environment: [:])
            let store = try OpenStore(folder: self.data, keyFile: self.key, limits: .init())
            await store.database.close()
        }

        deinit { try? FileManager.default.removeItem(atPath: self.folder) }

        var data: DataFolder { DataFolder(path: self.folder + "/data") }
        private var key: KeyFile { KeyFile(path: self.folder + "/key") }

        /// What a check finds.
        func look(
            _ check: DoctorCheck, _ change: (inout DoctorScene) -> Void = { _ in }
        ) async throws -> DoctorCheck.Verdict {
            try await self.withScene { scene in
                var scene = scene
                change(&scene)
                return try await check.look(scene)
            }
        }

        func withScene<Result: Sendable>(_ body: (DoctorScene) async throws -> Result) async throws -> Result {
            try await LocalAdministration(folder: self.data, keyFile: self.key).withConnection(toServer: false) {
                try await body(DoctorScene(configuration: self.configuration, connection: $0, isServed: false))
            }
        }

        func withAssembly(_ body: (ServerAssembly) async throws -> Void) async throws {
            let store = try OpenStore(folder: self.data, keyFile: self.key, limits: .init())
            try await body(try await store.assembly(.init(issuer: "http://localhost:8080", facets: [])))
            await store.database.close()
        }
    }

    @Test("each check has a name, says what it looks at and what to do, and no two have one name")
    func values() {
        let names = DoctorCheck.all.map(\.name)
        #expect(
            names == [
                "mail", "clients", "names", "permissions", "disk", "certificate", "chain", "clock", "facets",
                "associations", "network", "apns", "fcm",
            ])
        #expect(DoctorCheck.all.allSatisfy { !$0.looksAt.isEmpty && !$0.remedy.isEmpty })
    }

    @Test("a client without PKCE is named, and so is another whose registration is dangerous")
    func clients() async throws {
        let place = try await Place()
        #expect(try await place.look(.clients) == .good("0 clients."))
        try await place.withAssembly { assembly in
            for (name, binding) in [("Careful", ClientSettings.CodeBinding.usual), ("Careless", .nothing)] {
                var settings = ClientSettings()
                settings.codeBinding = binding
                _ = try await assembly.provider.clients.register(
                    name: name, redirectURIs: ["https://\(name.lowercased()).example/callback"],
                    postLogoutRedirectURIs: [], clientURI: nil, settings: settings, by: "test")
            }
        }
        guard case .bad(let problems) = try await place.look(.clients) else {
            Issue.record("nothing is found")
            return
        }
        #expect(problems.count == 1 && problems[0].contains(" (Careless), let in without PKCE: "))
    }

    @Test("names that are one to people are found together, however many pages of accounts there are")
    func names() async throws {
        let place = try await Place()
        #expect(try await place.look(.names) == .good("0 user names."))
        try await place.withAssembly { assembly in
            for name in ["alice", "Bob"] + (0..<150).map({ "person-\($0)" }) {
                _ = try await assembly.directory.create(username: name, displayName: nil, by: "test")
            }
        }
        // Names that collide are there from before an upgrade alone (UpgradeTests.namesThatCollide).
        #expect(try await place.look(.names) == .good("152 user names."))
    }

    @Test(
        "spaces around, ASCII capitals and composition make no other name; another letter does",
        arguments: [
            (["a", " a", "a\u{a0}"], 1), (["a", "A"], 1), (["\u{e9}", "e\u{301}"], 1), (["\u{c9}", "\u{e9}"], 0),
            (["a", "b"], 0), (["a b", "ab"], 0),
        ])
    func keys(names: [String], groups: Int) {
        #expect(NameCollisions.groups(of: names).count == groups)
        #expect(NameCollisions.groups(of: names).first.map { $0 == names } ?? true, "each as it is written")
    }

    @Test("whatever others can get at is named, and whatever is somebody else's")
    func permissions() async throws {
        let place = try await Place()
        guard case .good = try await place.look(.permissions) else {
            Issue.record("\(try await place.look(.permissions))")
            return
        }
        for (path, mode) in [
            (place.data.path, 0o755), (place.data.databasePath, 0o666), (place.configuration.keyFile, 0o644),
        ] {
            let before = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            // Without a connection: a key file that others can read opens nothing.
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            let scene = DoctorScene(
                configuration: place.configuration, connection: AdminConnection(place: .socket(path: "/none")),
                isServed: false)
            guard case .bad(let problems) = try await DoctorCheck.permissions.look(scene) else {
                Issue.record("\(path) is not found")
                continue
            }
            #expect(problems.count == 1 && problems[0].contains("\(path) (mode \(String(mode, radix: 8)))"))
            try FileManager.default.setAttributes([.posixPermissions: before ?? 0o600], ofItemAtPath: path)
        }
    }

    @Test("too little room is told, and room that the system does not tell of")
    func disk() async throws {
        let place = try await Place()
        let enough = DiskSpace(free: 600 << 20, all: 1000 << 20)
        guard case .good = try await place.look(.disk, { $0.space = { _ in enough } }) else {
            Issue.record("600 MiB are enough")
            return
        }
        let little = DiskSpace(free: 100 << 20, all: 1000 << 20)
        guard case .bad(let problems) = try await place.look(.disk, { $0.space = { _ in little } }) else {
            Issue.record("100 MiB are not enough")
            return
        }
        #expect(problems[0].hasPrefix("100 MiB of 1000 MiB are free"))
        guard case .unknown = try await place.look(.disk, { $0.space = { _ in nil } }) else {
            Issue.record("nobody knows")
            return
        }
        #expect(DiskSpace(at: "/")?.all ?? 0 > 0)
    }

    @Test("a certificate that soon runs out, has run out, is not valid yet, or is not its key's is told")
    func certificate() async throws {
        let files = try IssuedFiles()
        try files.issue("month", validFor: 30 * 86_400)
        try files.issue("day", validFor: 86_400)
        func look(_ certificate: String, _ key: String, after: Duration = .zero) async throws -> DoctorCheck.Verdict {
            let place = try await Place([
                "tlsCertificate": files.path(certificate), "tlsKey": files.path(key),
            ])
            let now = TimeSource.system.now() + after
            return try await place.look(.certificate) { $0.time = TimeSource { now } }
        }
        #expect(try await look("month", "month-key") == .good(files.path("month")))
        for (verdict, words) in [
            (try await look("day", "day-key"), "is valid until"),
            (try await look("day", "day-key", after: .seconds(2 * 86_400)), "was valid until"),
            (try await look("month", "month-key", after: .seconds(-86_400 * 9)), "is valid from"),
            (try await look("month", "day-key"), "is not that of the first certificate"),
        ] {
            guard case .bad(let problems) = verdict else {
                Issue.record("\(words): \(verdict)")
                continue
            }
            #expect(problems.count == 1 && problems[0].contains(words), "\(problems)")
        }
        #expect(try await Place().look(.certificate) == .good("The server ends no TLS itself."))
    }

    @Test("a clock that nothing keeps right is told")
    func clock() async throws {
        let place = try await Place()
        for (isSynchronised, word) in [(true, "good"), (false, "bad"), (nil, "unknown")] as [(Bool?, String)] {
            let verdict = try await place.look(.clock) { $0.isClockSynchronised = { isSynchronised } }
            #expect(verdict.word == word)
        }
    }

    @Test(
        "the exit code is 1 where something is bad, 6 where something could not be looked at, and the report is JSON too"
    )
    func report() async throws {
        func check(_ name: String, _ verdict: DoctorCheck.Verdict) -> DoctorCheck {
            DoctorCheck(name: name, looksAt: "at \(name)", remedy: "mend \(name)", look: { _ in verdict })
        }
        let failing = DoctorCheck(name: "f", looksAt: "at f", remedy: "mend f") { _ in
            throw CommandFailure(.unreachable, "no server answers")
        }
        try await Place().withScene { (scene: DoctorScene) async throws -> Void in
            #expect(await DoctorReport(of: [check("a", .good("fine"))], at: scene).status == nil)
            #expect(await DoctorReport(of: [check("a", .good("fine")), failing], at: scene).status == .noVerdict)
            let report = await DoctorReport(
                of: [check("a", .bad(["one", "two"])), failing, check("c", .good("fine"))], at: scene)
            #expect(report.status == .failed)
            #expect(
                report.text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) } == [
                    "bad      a", "one", "two", "To do: mend a", "unknown  f", "no server answers", "good     c",
                    "fine",
                ])
            guard case .object(let object) = report.json, case .array(let checks)? = object["checks"],
                case .object(let first)? = checks.first
            else {
                Issue.record("\(report.json)")
                return
            }
            #expect(object["good"] == .bool(false) && checks.count == 3)
            #expect(try first.strings("findings") == ["one", "two"])
            #expect(first["verdict"] == .string("bad") && first["remedy"] == .string("mend a"))
            #expect(first["name"] == .string("a") && first["looksAt"] == .string("at a"))
        }
    }

    @Test("mail is looked at where a server runs: what waits too long, and the last failure")
    func mail() async throws {
        guard case .unknown = try await Place().look(.mail) else {
            Issue.record("no server runs")
            return
        }
        let local = try await Place().look(.mail) {
            $0 = DoctorScene(
                configuration: $0.configuration, connection: $0.connection, isServed: true)
        }
        #expect(local == .good("The server sends no mail."))
    }
}
