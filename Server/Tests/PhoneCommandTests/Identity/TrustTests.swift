import ArgumentParser
import Countersign
import Foundation
import Testing
import _Primitives

@testable import PhoneCommand

/// A phone's folder for the time of one test.
func withPhoneFolder(_ body: (String) async throws -> Void) async throws {
    let home = NSTemporaryDirectory() + "phone-" + RandomSource.system.token(byteCount: 8)
    try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: home) }
    try await body(home)
}

@Suite("Which servers the terminal phone takes identities of, and how sound it says that it is")
struct TrustTests {
    private static let key =
        #"{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","#
        + #""y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}"#

    @Test("A root key is one on P-256, and never a private one")
    func keys() throws {
        #expect(try TrustedServers.key(Array(Self.key.utf8)).thumbprint.count == 43)
        let wrong = [
            "", "[]", "{}", String(Self.key.dropLast()) + #","d":"870MB6gfuTJ4HtUnUvYMyJpr5eUZNP4Bk43bVdj3eAE"}"#,
            #"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#, #"{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}"#,
        ]
        for text in wrong {
            #expect { try TrustedServers.key(Array(text.utf8)) } throws: {
                ($0 as? Refusal)?.reason == "not-a-key"
            }
        }
    }

    @Test("What is trusted is so in the next process, by the last key, and by its address to the letter")
    func remembered() async throws {
        try await withPhoneFolder { home async throws in
            #expect(try TrustedServers(home: home).all().isEmpty)
            let trusted = [("https://a.example", "old"), ("https://b.example", "b"), ("https://a.example", "new")]
            for (server, key) in trusted {
                try TrustedServers(home: home).set(.init(idmIdentifier: server, rootKeys: [key]))
            }
            let known = TrustedServers(home: home)
            #expect(try known.all().map(\.idmIdentifier) == ["https://b.example", "https://a.example"])
            #expect(try known.server("https://a.example")?.rootKeys == ["new"])
            #expect(try known.server("https://a.example/") == nil)
            try Data("{".utf8).write(to: URL(fileURLWithPath: "\(home)/trust.json"))
            #expect { try known.all() } throws: { ($0 as? Refusal)?.reason == "trust-unreadable" }
        }
    }

    @Test("A server elsewhere is not trusted before its operator's key is here, and nothing is sent to it")
    func elsewhere() async throws {
        try await withPhoneFolder { home async throws in
            let phone = try IdentityPhone(try PhoneOptions.parse(["--home", home, "--json"]), Report(isJSON: true))
            await #expect {
                try await phone.sdk(for: "https://id.invalid")
            } throws: {
                let refusal = $0 as? Refusal
                return refusal?.reason == "unknown-server"
                    && refusal?.sentence.contains("trust https://id.invalid") == true
            }
            #expect(try phone.trusted.all().isEmpty)
        }
    }

    @Test("A server that does not answer is trusted all the same, and its key was compared by nobody")
    func absent() async throws {
        try await withPhoneFolder { home async throws in
            let phone = try IdentityPhone(try PhoneOptions.parse(["--home", home, "--json"]), Report(isJSON: true))
            // Nobody listens at the first port.
            let server = IdentityConfiguration.TrustedServer(idmIdentifier: "http://127.0.0.1:1", rootKeys: [Self.key])
            let address = try #require(ServerAddress(server.idmIdentifier))
            #expect(try await !phone.answers(address, by: try TrustedServers.key(Array(Self.key.utf8)).roots))
            try phone.trusted.set(server)
            let sdk = try await phone.sdk(for: server.idmIdentifier)
            let error = await #expect(throws: CountersignError.self) { try await sdk.common.refreshServerKeys() }
            // Which server it was, and nothing of what was asked of it.
            let sentence = Refusal(try #require(error)).sentence
            #expect(sentence.contains("127.0.0.1:1") && !sentence.contains("/identity"))
        }
    }

    @Test("What nobody is personalised for is said with what to do")
    func nobody() async throws {
        try await withPhoneFolder { home async throws in
            let phone = try IdentityPhone(try PhoneOptions.parse(["--home", home, "--json"]), Report(isJSON: true))
            await #expect {
                try await phone.identity()
            } throws: {
                let refusal = $0 as? Refusal
                return refusal?.status == .notFound && refusal?.sentence.contains("enroll CODE") == true
            }
        }
    }

    @Test("The look at the device finds what it was told, also in the next process")
    func integrity() async throws {
        try await withPhoneFolder { home async throws in
            let found = try await SimulatedIntegrity(home: home).inspect()
            #expect(!found.isRooted && !found.isHooked)
            try SimulatedIntegrity(home: home).set(SimulatedIntegrity.State(isRooted: true))
            let rooted = try await SimulatedIntegrity(home: home).inspect()
            #expect(rooted.isRooted && !rooted.isHooked)
            try SimulatedIntegrity(home: home).set(SimulatedIntegrity.State())
            #expect(try await SimulatedIntegrity(home: home).inspect() == found)
        }
    }
}
