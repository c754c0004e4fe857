import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Testing
import _Primitives

@testable import PhoneCommand

@Suite("What a person holds before the phone is read once, and leads to one server")
struct CodeInputTests {
    private func payload(_ redeemURL: String = "https://id.example/token/redeem/authentication") throws
        -> OutOfBandPayload
    {
        try OutOfBandPayload(
            redeemData: .init(
                token: "b2YgdGhpcnR5LXR3byBieXRlcywgbW9yZSBvciBsZXNz", redeemURL: try #require(URL(string: redeemURL))))
    }

    @Test("A link, bare base64url and a typed code are told apart")
    func forms() {
        #expect(CodeInput(text: " https://id.example/open?x=1\n").form == .link("https://id.example/open?x=1"))
        #expect(CodeInput(text: "abcde-fgh1k").form == .typed("abcde-fgh1k"))
        #expect(CodeInput(text: "eyJubWFfZGF0YSI6e30").form == .encoded("eyJubWFfZGF0YSI6e30"))
    }

    @Test(
        "A code of a personalised identity has a secret behind a tilde, bare or behind the # of a link",
        arguments: ["e30.e30.c2ln~c2VjcmV0", "https://id.example/open#e30.e30.c2ln~c2VjcmV0", "x-app://open#a~b"])
    func identityCodes(text: String) {
        #expect(CodeInput(text: " \(text)\n").form == .identity(text))
    }

    @Test("A tilde in a link's path makes no code of an identity of it")
    func tilde() {
        #expect(CodeInput(text: "https://id.example/~x/open?y=1").form == .link("https://id.example/~x/open?y=1"))
    }

    @Test("A link leads to the server that redeems it, and to no other one")
    func server() throws {
        let input = CodeInput(text: try self.payload().link(base: "https://id.example"))
        #expect(try input.read(server: nil).server.text == "https://id.example")
        #expect(try input.read(server: ServerAddress("https://ID.example/")).server.text == "https://id.example")
        #expect {
            try input.read(server: ServerAddress("https://other.example"))
        } throws: {
            ($0 as? Refusal)?.reason == "host-not-allowed"
        }
    }

    @Test("A server below a path of its host is found with its path, and is not one of another path")
    func path() throws {
        let payload = try self.payload("https://id.example/shared/token/redeem/authentication")
        let input = CodeInput(text: payload.link(base: "https://id.example/shared"))
        #expect(try input.read(server: nil).server.text == "https://id.example/shared")
        #expect(
            try input.read(server: ServerAddress("https://id.example/shared/")).server.text
                == "https://id.example/shared")
        for other in ["https://id.example", "https://id.example/other"] {
            #expect { try input.read(server: ServerAddress(other)) } throws: {
                ($0 as? Refusal)?.reason == "host-not-allowed"
            }
        }
    }

    @Test("Bare base64url is read like a link")
    func encoded() throws {
        let input = CodeInput(
            text: try self.payload("http://127.0.0.1:8080/token/redeem/authentication").base64URLEncoded)
        #expect(try input.read(server: nil).server.text == "http://127.0.0.1:8080")
    }

    @Test("What came by a link stays known")
    func fromLink() throws {
        let payload = try self.payload()
        let link = payload.link(base: "https://id.example")
        #expect(try CodeInput(text: link).read(server: nil).payload?.isFromLink == true)
        #expect(try CodeInput(text: payload.base64URLEncoded).read(server: nil).payload?.isFromLink == false)
    }

    @Test("A typed code says nothing of a server, so that somebody has to")
    func typedCode() throws {
        let input = CodeInput(text: "ABCDE-12345")
        #expect(try input.read(server: ServerAddress("https://id.example")).payload == nil)
        #expect { try input.read(server: nil) } throws: { ($0 as? Refusal)?.status == .usage }
    }

    @Test("An encrypted payload says nothing of a server, and only the SDK with the phone's keys decodes it")
    func encrypted() async throws {
        let json = #"{"nma_data":"e30..AA.AA.AA","nma_data_content_type":"application/jose","nma_data_version":"1"}"#
        let text = Base64URL.encode(json.utf8)
        let address = try #require(URL(string: "https://id.example"))
        var configuration = ClientConfiguration(baseURL: address)
        configuration.facetID = "linux:program:test"
        let phone = try await VirtualPhone(configuration: configuration, transport: VirtualServer(baseURL: address))
        for input in [
            CodeInput(text: text), CodeInput(text: "https://id.example/open?dispatchTokenResponse=\(text)"),
        ] {
            #expect(try input.plainPayload() == nil)
            #expect(try input.read(server: ServerAddress("https://id.example")).payload == nil)
            #expect { try input.read(server: nil) } throws: { ($0 as? Refusal)?.status == .usage }
            await #expect(throws: OutOfBandPayloadError(.decryptionError, "")) {
                _ = try await input.decoded(nil, by: phone.client)
            }
        }
    }

    @Test(
        "A link of something else is refused",
        arguments: ["https://id.example/", "https://id.example/open?dispatchTokenResponse=e30", "x"])
    func otherLinks(text: String) {
        #expect(throws: OutOfBandPayloadError(.malformedPayload, "")) { try CodeInput(text: text).read(server: nil) }
    }

    @Test("A file that is not there is not taken for a code")
    func missingFile() {
        #expect(throws: PictureError.unreadable("/nowhere/code.png")) { try CodeInput(argument: "/nowhere/code.png") }
    }

    @Test(
        "A server is scheme, host, port and path",
        arguments: [
            ("https://ID.example/path/?x#y", "https://id.example/path"),
            ("https://ID.example/?x", "https://id.example"), ("http://localhost:8080/", "http://localhost:8080"),
        ])
    func addresses(text: String, origin: String) {
        #expect(ServerAddress(text)?.text == origin)
    }

    @Test("What is no server is refused", arguments: ["ftp://id.example", "id.example", "https://", ""])
    func noAddresses(text: String) {
        #expect(ServerAddress(text) == nil)
    }

    @Test("Only loopback counts as this machine")
    func loopback() {
        for (text, isLoopback) in [
            ("http://localhost:1", true), ("http://127.0.0.1", true), ("http://[::1]:1", true),
            ("https://localhost.example", false), ("http://127.0.0.1.example", false),
        ] {
            #expect(ServerAddress(text)?.isLoopback == isLoopback, "\(text)")
        }
    }
}

@Suite("Exit codes say what came of a command")
struct RefusalTests {
    private static let cases: [(any Error & Sendable, Ending, String)] = [
        (OperationError(.tokenExpired), .refused, "token-expired"),
        (OperationError(.tokenAlreadyRedeemed), .refused, "token-already-redeemed"),
        (OperationError(.tokenUnknown), .notFound, "token-unknown"),
        (OperationError(.networkError), .unreachable, "unreachable"),
        (OperationError(.hostNotAllowed), .refused, "host-not-allowed"),
        (OperationError(.codeCameByLink), .refused, "code-came-by-link"),
        (OperationError.fido(.userCanceled), .refused, "denied"),
        (OperationError.fido(.userLockout), .lockedOut, "locked-out"),
        (OperationError.fido(.protocolError, serverStatusCode: 1403), .refused, "not-allowed"),
        (OperationError(.networkError), .unreachable, "unreachable"),
        (OperationError(.fidoError, fidoErrorCode: .userLockout), .lockedOut, "locked-out"),
        (InitializationError(.storageInUse), .refused, "storage-in-use"),
        (InitializationError(.noDeviceLock), .refused, "no-device-lock"),
        (InitializationError(.deviceProtection), .refused, "device-protection"),
        (OutOfBandPayloadError(.unsupportedVersion, ""), .refused, "unsupported-version"),
        (PictureError.noCode, .notFound, "no-code"),
        (PictureError.severalCodes, .refused, "several-codes"),
        (Refusal.usage("x"), .usage, "usage"),
    ]

    @Test("Each error has its exit code and its word", arguments: cases.indices)
    func codes(index: Int) {
        let (error, status, reason) = Self.cases[index]
        let refusal = Refusal(error)
        #expect(refusal.status == status)
        #expect(refusal.reason == reason)
        #expect(!refusal.sentence.isEmpty)
    }

    @Test("A locked key's way back is a new enrolment over it, and costs no other account")
    func lockedKey() {
        let sentence = Refusal(OperationError.fido(.userLockout)).sentence
        #expect(sentence.contains("`countersign-phone enroll LINK`"))
        #expect(sentence.contains("takes the place of the locked one"))
        #expect(sentence.contains("other accounts are not touched"))
        #expect(!sentence.contains("forget") && !sentence.contains("deregister"))
    }

    @Test("Only where nothing can be opened any more is a person told to wipe the phone")
    func wiping() {
        for code in 0...255 {
            let sentence = Refusal(OperationError.fido(FidoErrorCode(rawValue: code))).sentence
            #expect(!sentence.contains("wipe"), "\(code): \(sentence)")
        }
        for (error, _, _) in Self.cases { #expect(!Refusal(error).sentence.contains("wipe"), "\(error)") }
        #expect(Refusal(InitializationError(.storageCorrupt)).sentence.contains("`wipe`"))
    }
}
