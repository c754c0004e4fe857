import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAFClient

@Suite("Operations parity 97, decision 117: pins of server keys")
struct TLSPinsTests {
    /// Two pins that no key of these tests has.
    static let other = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
    static let another = "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

    /// A certificate that OpenSSL made, and the pin of its key as OpenSSL prints the pin.
    struct Example: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let certificate: String
        let pin: String
    }

    static let examples = [
        Example(
            testDescription: "P-256",
            certificate: """
                MIIBgjCCASegAwIBAgIUD/YsF3y6390NjuywrpuXUHPyL8AwCgYIKoZIzj0EAwIwFTETMBEGA1UEAwwKZWMuZXhhbXBsZTAgFw0y\
                NjExMzAxMzQyNDVaGA8yMTI2MTEwNjEzNDI0NVowFTETMBEGA1UEAwwKZWMuZXhhbXBsZTBZMBMGByqGSM49AgEGCCqGSM49AwEH\
                A0IABFWpgQK/vonNX5mXRn9RVHCvsEsy7vkC38BNooYRsHNx2yXr2A6i+K5bOvrT6qk0zy/UIzNePUYhKuUoRHw+WxejUzBRMB0G\
                A1UdDgQWBBTtaa78tEyTF+8N6yTBpC0+b1oloTAfBgNVHSMEGDAWgBTtaa78tEyTF+8N6yTBpC0+b1oloTAPBgNVHRMBAf8EBTAD\
                AQH/MAoGCCqGSM49BAMCA0kAMEYCIQDNvx83vkfD3jVJfDKyunU3V/71w7MPNSrOWjZzVRgPoQIhAPVqza1MCb+Vk8B+xcZsj1Wg\
                quLMG/rwpAbmAUDlhbec
                """,
            pin: "3hTRpnjO7VS8t+2QnAq1teHJ7VJ1ydVqq1tNivMsKdE="),
        Example(
            testDescription: "RSA, version 1",
            certificate: """
                MIIBnjCCAQcCFHRVe7eW0KZbH4bTPixqKecBaZZjMA0GCSqGSIb3DQEBCwUAMA0xCzAJBgNVBAMMAnYxMCAXDTI2MTEzMDEzNDI0\
                NVoYDzIxMjYxMTA2MTM0MjQ1WjANMQswCQYDVQQDDAJ2MTCBnzANBgkqhkiG9w0BAQEFAAOBjQAwgYkCgYEA47SvHJg1wGoFzJC3\
                h9LWI6+13hE6fv//JcnIjf3CJTdZltJZUOTEnQOrAsssvhIkQ3VWVeLdJxa8mDam/KcJttGwUyZZitvkVNjadM9JS1tnTkItoIAg\
                rbTw9wFJV4MoWQyo34kWam/oEQHS4UhTGl9wlNcxDZ/PRVgKOAFvpxUCAwEAATANBgkqhkiG9w0BAQsFAAOBgQAbiS1dj3lj9vJz\
                wLIM4q7vYUAOVBVvq1xEea38aujqN8hDgXLE289QBAGQ1+zcpgzggJ9owFuqn8ToLyHF9RBcU9JusCPd4ClzolIu3zru37gnE7ff\
                EnQNm4fJ95UlUB4Kqo9GxS7ZEhcZ3hHBMenBWS04okzct/QLtE3Z66LRVQ==
                """,
            pin: "IQ6bIzKP1Djy8Gbih4OM/s8zUV8rFRMdd+5zYzPxm8M="),
        Example(
            testDescription: "Ed25519",
            certificate: """
                MIIBQDCB86ADAgECAhRGeK0Ke1g3J/GTce42NliSrmc6azAFBgMrZXAwFTETMBEGA1UEAwwKZWQuZXhhbXBsZTAgFw0yNjExMzAx\
                MzQyNDVaGA8yMTI2MTEwNjEzNDI0NVowFTETMBEGA1UEAwwKZWQuZXhhbXBsZTAqMAUGAytlcAMhAI+FL6T4yy0JrYIDvRmJtvhd\
                v+ly7cKvAb2cwIEPQ2A6o1MwUTAdBgNVHQ4EFgQUMYoTElzUqDtqMJcFDGrQtkldo0owHwYDVR0jBBgwFoAUMYoTElzUqDtqMJcF\
                DGrQtkldo0owDwYDVR0TAQH/BAUwAwEB/zAFBgMrZXADQQCLz3I48/awwE16+gEFEtaCko9iLWKN3ZRuLjhMPAEjqt1NFnN9WrwJ\
                3hTVr9LAVncNM9k+HbhdOKOnWZ6eCzAK
                """,
            pin: "LxCVqzVGVUSky3gJ/q1vtxdBPeYYTAN4HtWUQoLq6k8="),
    ]

    private func bytes(_ example: Example) throws -> [UInt8] {
        Array(try #require(Data(base64Encoded: example.certificate)))
    }

    @Test(
        "The key of a certificate is found by the pin that OpenSSL prints, in use or in reserve",
        arguments: Self.examples)
    func keys(example: Example) throws {
        let certificate = try self.bytes(example)
        let others = Self.examples.map(\.pin).filter { $0 != example.pin }
        #expect(try TLSPins([example.pin], backupPins: [Self.other]).includeKey(ofCertificate: certificate))
        #expect(try TLSPins([Self.other], backupPins: [example.pin]).includeKey(ofCertificate: certificate))
        #expect(try !TLSPins([others[0]], backupPins: [others[1]]).includeKey(ofCertificate: certificate))
    }

    @Test("Bytes that are no certificate have no pinned key", arguments: Self.examples)
    func noCertificate(example: Example) throws {
        let certificate = try self.bytes(example)
        let pins = try TLSPins([example.pin], backupPins: [Self.other])
        for count in 0..<certificate.count {
            #expect(!pins.includeKey(ofCertificate: Array(certificate.prefix(count))))
        }
        #expect(!pins.includeKey(ofCertificate: certificate + [0]))
        for tag in [0, 4] {
            var changed = certificate
            changed[tag] ^= 0x01
            #expect(!pins.includeKey(ofCertificate: changed))
        }
        // A length in more octets than needed, an indefinite length, and a length beyond the bytes.
        let lengths: [[UInt8]] = [
            [0x83, 0x00, certificate[2], certificate[3]], [0x80], [0x84, 0x7F, 0xFF, 0xFF, 0xFF], [0x82, 0x00, 0x10],
        ]
        for length in lengths {
            #expect(!pins.includeKey(ofCertificate: [0x30] + length + Array(certificate[4...])))
        }
    }

    @Test(
        "Pins without a reserve, without a key in use, twice the same, malformed or too many are typed errors",
        arguments: [
            ([], [Self.other], TLSPinsError.Code.noPin), ([Self.other], [], .noBackupPin), ([], [], .noPin),
            ([Self.other], [Self.other], .repeatedPin), ([Self.other, Self.other], [Self.another], .repeatedPin),
            (["sha256/" + Self.other], [Self.another], .malformed),
            ([String(Self.other.dropLast())], [Self.another], .malformed),
            ([Self.other], ["AAAA"], .malformed), ([Self.other], [""], .malformed),
            // AnSelf.other spelling of the same bytes, and the alphabet for addresses.
            ([Self.other], ["AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB="], .malformed),
            ([Self.other], ["_-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="], .malformed),
            ([Self.other], Array(repeating: Self.another, count: 32), .tooManyPins),
        ] as [([String], [String], TLSPinsError.Code)])
    func refused(pins: [String], backupPins: [String], code: TLSPinsError.Code) {
        let error = #expect(throws: TLSPinsError.self) { try TLSPins(pins, backupPins: backupPins) }
        #expect(error?.code == code)
    }

    private static let address = URL(string: "https://id.example.com")!

    @Test("A file has the pins in two lists, and one list alone is an invalid configuration")
    func file() throws {
        func configuration(_ members: String) throws -> ClientConfiguration {
            try JSONDecoder().decode(
                ClientConfiguration.self, from: Data(#"{"baseUrl":"https://id.example.com"\#(members)}"#.utf8))
        }
        #expect(try configuration("").tlsPins == nil)
        let read = try configuration(#","tlsPins":["\#(Self.other)"],"tlsBackupPins":["\#(Self.another)"]"#)
        #expect(try read.tlsPins == TLSPins([Self.other], backupPins: [Self.another]))
        #expect(try JSONDecoder().decode(ClientConfiguration.self, from: try JSONEncoder().encode(read)) == read)
        for members in [
            #","tlsPins":["\#(Self.other)"]"#, #","tlsBackupPins":["\#(Self.other)"]"#,
            #","tlsPins":["\#(Self.other)"],"tlsBackupPins":[]"#, #","tlsPins":[],"tlsBackupPins":[]"#,
        ] {
            #expect(throws: InitializationError(.invalidConfiguration)) { try configuration(members) }
        }
    }

    @Test("No face starts with pins over a transport that cannot enforce them, and nothing is sent")
    func cannotPin() async throws {
        let pins = try TLSPins([Self.other], backupPins: [Self.another])
        let server = VirtualServer(baseURL: Self.address)
        #expect(throws: TransportError(.cannotPin, "")) { try server.pinned(to: pins) }
        #expect(throws: TransportError(.cannotPin, "")) { try LoggedTransport(server) { _ in }.pinned(to: pins) }

        var operations = ClientConfiguration(baseURL: Self.address)
        operations.tlsPins = pins
        await #expect(throws: InitializationError(.invalidConfiguration)) {
            _ = try await VirtualPhone(configuration: operations, transport: server)
        }
        #expect(await server.requests.isEmpty)

        let manager = try VirtualIdentityServer()
        let code = await identityError {
            _ = try await VirtualIdentityPhone(server: manager) { $0.tlsPins = pins }
        }
        #expect(code == .invalidConfiguration)

        let world = SignInWorld()
        var signIn = world.configuration
        signIn.tlsPins = pins
        let configuration = signIn
        #expect(await signInError { _ = try await world.device.start(configuration) } == .misconfigured)
    }

    #if !canImport(Security)
        @Test("Foundation without certificates refuses pins")
        func foundation() throws {
            let pins = try TLSPins([Self.other], backupPins: [Self.another])
            #expect(throws: TransportError(.cannotPin, "")) { try URLSessionTransport().pinned(to: pins) }
        }
    #endif

    @Test("Another key is an error of its own at each face, with its own remedy, and no retry")
    func mismatch() async throws {
        let pins = try TLSPins([Self.other], backupPins: [Self.another])
        let network = Intercepted()
        var operations = ClientConfiguration(baseURL: Self.address)
        operations.tlsPins = pins
        let phone = try await VirtualPhone(configuration: operations, transport: network)
        let error = await operationError {
            _ = try await phone.client.operations.registration.username("alice")
                .retryPolicy(.constant(maxRetries: 3, delay: .zero)).execute()
        }
        #expect(error == OperationError(.tlsPinMismatch) && error?.recovery == .changeNetwork)
        #expect(network.tries == 1)

        let sdk = CountersignSDK()
        let manager = try VirtualIdentityServer()
        var identities = IdentityConfiguration(servers: [manager.trusted])
        identities.facetID = "linux:program:test"
        identities.tlsPins = pins
        try await sdk.initialize(
            identities,
            platform: DevicePlatform(storage: InMemoryStorage(), clock: FakeClock(wall: manager.now)),
            transport: network)
        #expect(await identityError { try await sdk.common.refreshServerKeys() } == .tlsPinMismatch)

        var world = SignInWorld()
        world.configuration.tlsPins = pins
        let app = try await SignIn(world.configuration, platform: world.device.platform, transport: network)
        #expect(
            await signInError { try await app.withPassword(username: "alice", password: "wrong") } == .tlsPinMismatch)
    }
}

/// A network on which every connection has another key than the pinned keys. Without pins, the network refuses to be
/// used.
// Safe to share: every access to `count` is within `lock`.
private final class Intercepted: Transport, @unchecked Sendable {
    private let lock = NSLock()
    private var count = 0

    /// The number of requests.
    var tries: Int { self.lock.withLock { self.count } }

    func pinned(to pins: TLSPins) throws -> any Transport { Pinned(network: self) }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        throw TransportError(.unreachable, "a request without pins")
    }

    private struct Pinned: Transport {
        let network: Intercepted

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            self.network.lock.withLock { self.network.count += 1 }
            throw TransportError(.tlsPinMismatch, "", isUnsent: true)
        }
    }
}
