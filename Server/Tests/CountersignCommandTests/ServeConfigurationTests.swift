import CountersignServer
import Foundation
import Store
import Testing
import UAF
import UAFRelyingParty
import _Primitives

@testable import CountersignCommand

@Suite("countersign serve: settings from a file, the environment and flags")
struct ServeConfigurationTests {
    private func load(
        _ flags: [String: String] = [:], environment: [String: String] = ["HOME": "/home/op"], file: String? = nil
    ) async throws -> ServeConfiguration {
        try await ServeConfiguration.load(file: file, flags: flags, environment: environment)
    }

    @Test("without any setting it serves this machine alone")
    func defaults() async throws {
        let configuration = try await self.load()
        #expect(configuration.bind == ServeConfiguration.Endpoint("127.0.0.1:8080"))
        #expect(configuration.operationsBind == ServeConfiguration.Endpoint("127.0.0.1:9090"))
        #expect(configuration.issuer == "http://localhost:8080")
        #expect(configuration.dataFolder == "/home/op/.local/share/countersign")
        #expect(configuration.keyFile == "/home/op/.config/countersign/countersign.key")
        #expect(configuration.facets == ["linux:program:countersign-phone"])
    }

    @Test("the service manager's folders come before the user's")
    func serviceManager() async throws {
        let configuration = try await self.load(environment: [
            "HOME": "/home/op", "STATE_DIRECTORY": "/var/lib/countersign",
            "CREDENTIALS_DIRECTORY": "/run/credentials/c",
        ])
        #expect(configuration.dataFolder == "/var/lib/countersign")
        #expect(configuration.keyFile == "/run/credentials/c/countersign.key")
    }

    @Test("a flag wins over the environment, and the environment over the file")
    func precedence() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).yaml")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("bind: 127.0.0.1:1\ndata: /file\nfacets: a,b\n".utf8).write(to: file)
        let configuration = try await self.load(
            ["bind": "127.0.0.1:3"],
            environment: ["COUNTERSIGN_BIND": "127.0.0.1:2", "COUNTERSIGN_DATA": "/environment"], file: file.path)
        #expect(configuration.bind.port == 3)
        #expect(configuration.dataFolder == "/environment")
        #expect(configuration.facets == ["a", "b"])
        #expect(configuration.issuer == "http://localhost:3")
    }

    @Test("lifetimes come by name")
    func limits() async throws {
        #expect(try await self.load(["limits": "code=5, claimed=7"]).limits == ["code": 5, "claimed": 7])
    }

    @Test(
        "what cannot be meant is refused, with the exit code for misuse",
        arguments: [
            ["bind": "8080"], ["bind": "localhost:70000"], ["bind": ":1"], ["operationsBind": "x"],
            ["issuer": "ftp://localhost"], ["issuer": "sign-in.example.com"], ["issuer": "https://a.example/path"],
            ["issuer": "http://sign-in.example.com"], ["tlsKey": "k.pem"], ["tlsCertificate": "c.pem"],
            ["bind": "0.0.0.0:8080"], ["limits": "code"], ["limits": "code=0"], ["limits": "code=a"],
            ["traceBeyondLoopback": "yes"], ["lenient": "row1"], ["lenient": "row21VendorTag:xyz"],
            ["lenient": "row2Base64,section14AnyText"],
            ["bind": "0.0.0.0:8080", "trustedProxies": "10.0.0.0/8", "issuer": "https://a.example", "trace": "t"],
        ])
    func refusals(flags: [String: String]) async throws {
        let failure = await #expect(throws: CommandFailure.self) { try await self.load(flags) }
        #expect(failure?.status == .usage)
    }

    @Test("metadata, policies, lenient readings and extensions are settings like the others, and shown")
    func rules() async throws {
        let configuration = try await self.load(
            ["policies": "/etc/p", "lenient": "row2Base64, row21VendorTag:3FFC"],
            environment: ["COUNTERSIGN_METADATA": "/etc/m", "COUNTERSIGN_EXTENSIONS": "a.b", "HOME": "/home/op"])
        #expect(configuration.metadataFolder == "/etc/m" && configuration.policiesFolder == "/etc/p")
        let readings = try LenientNames.readings(configuration.lenient)
        var expected = LenientReadings()
        expected.row2Base64 = true
        expected.row21VendorTags = [TLVTag(rawValue: 0x3FFC)]
        #expect(readings == expected)
        let printed = configuration.printed.split(separator: "\n")
        for line in [
            "metadata: /etc/m", "policies: /etc/p", "lenient: row2Base64,row21VendorTag:3FFC", "extensions: a.b",
        ] {
            #expect(printed.contains { $0 == line }, "\(line)")
        }
        let plain = try await self.load().printed
        #expect(!plain.contains("lenient") && !plain.contains("policies"))
        #expect(try LenientNames.readings([]) == LenientReadings())
    }

    @Test("rules are read from both folders; a bad file names itself")
    func ruleFiles() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("rules-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        for name in ["m", "p"] {
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent(name), withIntermediateDirectories: true)
        }
        let (metadata, policies) = (folder.path + "/m", folder.path + "/p")
        try Data(#"{"accepted":[[{"aaid":["C516#0003"]}]]}"#.utf8).write(to: URL(filePath: policies + "/finger.json"))
        try Data(#"{"models":["C516#0001"]}"#.utf8).write(to: URL(filePath: metadata + "/revoked.json"))
        let rules = try RuleFiles(metadataFolder: metadata, policiesFolder: policies).load()
        #expect(rules.policies.names == ["finger"])
        let (pin, finger) = (try AAID("C516#0001"), try AAID("C516#0003"))
        #expect(rules.metadata.isRevoked(pin) && !rules.metadata.isRevoked(finger))
        #expect(try RuleFiles(metadataFolder: nil, policiesFolder: nil).load().policies.names.isEmpty)
        try Data("{".utf8).write(to: URL(filePath: policies + "/bad.json"))
        #expect(throws: PolicyFileError.self) {
            try RuleFiles(metadataFolder: metadata, policiesFolder: policies).load()
        }
        try Data("{".utf8).write(to: URL(filePath: metadata + "/bad.json"))
        #expect(throws: MetadataFolderError.self) {
            try RuleFiles(metadataFolder: metadata, policiesFolder: nil).load()
        }
    }

    @Test("a file that is not there is named")
    func missingFile() async throws {
        let failure = await #expect(throws: CommandFailure.self) { try await self.load(file: "/none/at.yaml") }
        #expect(failure?.status == .notFound)
        #expect(failure?.description.contains("/none/at.yaml") == true)
    }

    @Test("behind a proxy it may listen for others, and traces only where that is said twice")
    func beyondLoopback() async throws {
        let configuration = try await self.load([
            "bind": "[::]:8080", "trustedProxies": "10.0.0.0/8,192.168.1.1/32", "issuer": "https://a.example/",
            "trace": "t", "traceBeyondLoopback": "true",
        ])
        #expect(configuration.trustedProxies == ["10.0.0.0/8", "192.168.1.1/32"])
        #expect(configuration.issuer == "https://a.example")
        #expect(configuration.bind.description == "[::]:8080")
    }
}

@Suite("countersign serve: the key file")
struct KeyFileTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("key-\(UUID())")

    private func withFolder(_ body: (String) throws -> Void) throws {
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: self.folder) }
        try body(self.folder.path)
    }

    @Test("is made once, for its owner alone, and read again")
    func makesAndReads() throws {
        try self.withFolder { folder in
            let file = KeyFile(path: folder + "/keys/a.key")
            let key = try file.key(mayCreate: true, dataFolder: folder + "/data")
            #expect(key.count == 32)
            #expect(try file.key(mayCreate: false, dataFolder: folder + "/data") == key)
            let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test("is refused inside the data folder, also through a link")
    func refusesDataFolder() throws {
        try self.withFolder { folder in
            try FileManager.default.createDirectory(atPath: folder + "/data", withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                atPath: folder + "/link", withDestinationPath: folder + "/data")
            for path in ["/data/a.key", "/link/a.key"] {
                #expect(throws: CommandFailure.self) {
                    try KeyFile(path: folder + path).key(mayCreate: true, dataFolder: folder + "/data")
                }
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/data").isEmpty)
        }
    }

    @Test("is refused where others can read it, or where it holds something else")
    func refusesOpenAndForeignFiles() throws {
        try self.withFolder { folder in
            let path = folder + "/a.key"
            _ = try KeyFile(path: path).key(mayCreate: true, dataFolder: folder + "/data")
            try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
            #expect(throws: CommandFailure.self) { try KeyFile(path: path).key(mayCreate: true, dataFolder: "/d") }
            try Data("short\n".utf8).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            #expect(throws: CommandFailure.self) { try KeyFile(path: path).key(mayCreate: true, dataFolder: "/d") }
        }
    }

    @Test("is not made anew where a database is sealed under a lost one")
    func refusesToReplaceALostKey() throws {
        try self.withFolder { folder in
            let file = KeyFile(path: folder + "/a.key")
            #expect(throws: CommandFailure.self) { try file.key(mayCreate: false, dataFolder: folder + "/data") }
            #expect(!FileManager.default.fileExists(atPath: file.path))
        }
    }
}

@Suite("countersign serve: lifetimes")
struct SettableLimitsTests {
    @Test("are set by name")
    func set() throws {
        let limits = try SettableLimits.applied(["dispatchLifetime": 3, "sessionLifetime": 60])
        #expect(limits.dispatchLifetime == .seconds(3))
        #expect(limits.sessionLifetime == .seconds(60))
        #expect(limits.claimedLifetime == Limits().claimedLifetime)
    }

    @Test("of another name, or longer than twice the default, are refused", arguments: ["tea", "dispatchLifetime"])
    func refused(name: String) {
        #expect(throws: CommandFailure.self) { try SettableLimits.applied([name: 121]) }
    }
}
