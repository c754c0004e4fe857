import CountersignServer
import Foundation
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@testable import CountersignCommand

@Suite("countersign serve: what keeps a server from starting, and what to do about it")
struct StartTests {
    private final class Place: Sendable {
        let folder = "/tmp/countersign-\(UUID().uuidString.prefix(8))"
        /// A listener of somebody else's.
        private let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let takenPort: Int

        init() throws {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let descriptor = self.descriptor
            self.takenPort =
                withUnsafeMutablePointer(to: &address) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        guard bind(descriptor, $0, size) == 0, listen(descriptor, 1) == 0 else { return 0 }
                        getsockname(descriptor, $0, &size)
                        return 1
                    }
                } == 1 ? Int(in_port_t(bigEndian: address.sin_port)) : 0
        }

        deinit {
            close(self.descriptor)
            try? FileManager.default.removeItem(atPath: self.folder)
        }

        /// Starts a server there, which a taken port ends at the latest.
        func start(_ more: [String: String] = [:]) async throws -> CommandFailure? {
            var flags = [
                "data": self.folder + "/data", "keyFile": self.folder + "/key",
                "bind": "127.0.0.1:\(self.takenPort)", "operationsBind": "127.0.0.1:0",
            ]
            flags.merge(more) { $1 }
            let configuration = try await ServeConfiguration.load(file: nil, flags: flags, environment: [:])
            return await #expect(throws: CommandFailure.self) {
                try await ServerProcess(configuration: configuration).run()
            }
        }

        /// What a server leaves that was at `issuer`, with somebody enrolled or not.
        func leave(issuer: String, isEnrolled: Bool, isInDatabase: Bool = false) async throws {
            let folder = DataFolder(path: self.folder + "/data")
            let store = try OpenStore(
                folder: folder, keyFile: KeyFile(path: self.folder + "/key"), limits: Limits())
            // A server of before kept it beside the database alone.
            if isInDatabase {
                try await store.database.keep(issuer: issuer)
            } else {
                try folder.keep(issuer: issuer)
            }
            if isEnrolled {
                let now = Timestamp(seconds: 1)
                try await store.database.createAccount(
                    AccountRecord(id: "a", username: "alice", displayName: nil, createdAt: now),
                    audit: AuditEvent(.init(rawValue: "account-created"), at: now))
                var change = CeremonyChange()
                change.registration = DeviceRegistration(
                    device: DeviceRecord(id: "d", accountID: "a", name: "Phone", isActive: true, createdAt: now),
                    credentials: [])
                _ = try await store.database.answer(
                    AnsweredChallenge(digest: [1], expiresAt: now), change: change, at: now)
            }
            await store.database.close()
        }
    }

    @Test("a taken port is named with its setting, and how to see who has it")
    func takenPort() async throws {
        let place = try Place()
        let failure = try #require(try await place.start())
        #expect(
            failure.status == .failed
                && failure.problem.contains("127.0.0.1:\(place.takenPort): port \(place.takenPort) is taken"))
        #expect(failure.remedy?.contains("ss -ltnp sport = :\(place.takenPort)") == true)
        #expect(failure.remedy?.contains("--bind") == true)
        let operations = try await place.start([
            "bind": "127.0.0.1:0", "operationsBind": "127.0.0.1:\(place.takenPort)",
        ])
        #expect(operations?.remedy?.contains("--operations-bind") == true)
    }

    @Test("a simulated register that is not right is named with its line, and one that is right is taken")
    func simulatedPeople() async throws {
        let place = try Place()
        try FileManager.default.createDirectory(atPath: place.folder, withIntermediateDirectories: true)
        let file = place.folder + "/people.ndjson"
        let flags = ["simulatedPeople": file]
        let missing = try await place.start(flags)
        #expect(missing?.status == .notFound && missing?.problem.contains(file) == true)
        try #"{"username":"alice"}\n{"username":"bob","ssn":"1"}\n"#.replacing("\\n", with: "\n")
            .write(toFile: file, atomically: true, encoding: .utf8)
        let wrong = try await place.start(flags)
        #expect(wrong?.problem == "the simulated register \(file), line 2: ssn is nine digits")
        #expect(wrong?.status == .failed && wrong?.remedy?.contains("--simulated-people") == true)
        try #"{"username":"alice"}"#.write(toFile: file, atomically: true, encoding: .utf8)
        #expect(try await place.start(flags)?.problem.contains("is taken") == true)
    }

    @Test("an address that is another machine's is named")
    func foreignAddress() async throws {
        let place = try Place()
        let failure = try await place.start(["bind": "127.0.0.1:0", "operationsBind": "192.0.2.1:8080"])
        #expect(failure?.problem.contains("does not have the address 192.0.2.1") == true)
    }

    @Test("another issuer over enrolled people is refused, unless the former one is named", arguments: [true, false])
    func changedIssuer(isInDatabase: Bool) async throws {
        let place = try Place()
        try await place.leave(issuer: "http://localhost:8080", isEnrolled: true, isInDatabase: isInDatabase)
        let new = ["issuer": "http://localhost:8081"]
        let failure = try await place.start(new)
        #expect(failure?.problem.contains("enrolled at http://localhost:8080") == true)
        #expect(failure?.remedy?.contains("--former-issuer http://localhost:8080") == true)
        let other = try await place.start(new.merging(["formerIssuer": "http://localhost:8079"]) { $1 })
        #expect(other?.problem.contains("enrolled at") == true)
        for flags in [
            new.merging(["formerIssuer": "http://localhost:8080"]) { $1 }, ["issuer": "http://localhost:8080"],
        ] {
            #expect(try await place.start(flags)?.problem.contains("is taken") == true)
        }
    }

    @Test("where nobody is enrolled the issuer is whatever it is set to")
    func unusedIssuer() async throws {
        let place = try Place()
        try await place.leave(issuer: "http://localhost:8080", isEnrolled: false)
        #expect(try await place.start(["issuer": "http://localhost:8081"])?.problem.contains("is taken") == true)
    }
}
