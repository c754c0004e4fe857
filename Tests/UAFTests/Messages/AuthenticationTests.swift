import Crypto
import Testing
import UAF
import _Primitives

@Suite("uaf-sections §2.4 and §14: authentication messages and transactions")
struct AuthenticationTests {
    @Test("A request survives writing and reading")
    func requestRoundTrip() throws {
        let request = try AuthenticationRequest(parsing: Parts.authenticationRequest.utf8)
        #expect(request.transaction == [Transaction(content: Array("Pay 10 EUR".utf8))])
        #expect(request.policy.accepted[0][0].keyIDs == [try KeyID(base64URL: Parts.keyID)])
        #expect(try AuthenticationRequest(parsing: request.serialized) == request)
    }

    @Test("A request without transaction survives too, and says nothing of one")
    func withoutTransaction() throws {
        let bytes = try Sample(Parts.authenticationRequest).setting("0.transaction", nil)
        let request = try AuthenticationRequest(parsing: bytes)
        #expect(request.transaction.isEmpty)
        #expect(try AuthenticationRequest(parsing: request.serialized) == request)
        #expect(!String(decoding: request.serialized, as: UTF8.self).contains("transaction"))
    }

    @Test(
        "A broken request is refused",
        arguments: [
            BadChange("0.challenge", nil, .missingMember),
            BadChange("0.policy", nil, .missingMember),
            BadChange("0.transaction", .array([]), .outOfRange),
            BadChange("0.transaction", .object([:]), .wrongType),
            BadChange("0.transaction.0.contentType", nil, .missingMember),
            BadChange("0.transaction.0.contentType", .string(""), .outOfRange),
            BadChange("0.transaction.0.content", nil, .missingMember),
            BadChange("0.transaction.0.content", .string(""), .outOfRange),
            BadChange("0.transaction.0.content", .string("not base64"), .invalidBase64URL),
            BadChange("0.header.op", .string("Reg"), .wrongOperation),
        ])
    func refuses(change: BadChange) throws {
        let bytes = try Sample(Parts.authenticationRequest).setting(change.path, change.value)
        #expect(throws: UAFError(change.code)) { try AuthenticationRequest(parsing: bytes) }
    }

    @Test("A content type that is not known decodes: the display refuses it, not the reader")
    func unknownContentType() throws {
        let bytes = try Sample(Parts.authenticationRequest).setting(
            "0.transaction.0.contentType", .string("text/markdown"))
        #expect(try AuthenticationRequest(parsing: bytes).transaction[0].contentType.rawValue == "text/markdown")
    }

    @Test("The hash of a transaction covers the content's bytes, not their base64url")
    func contentHash() {
        let transaction = Transaction(content: Array("Pay 10 EUR".utf8))
        #expect(transaction.contentHash == Array(SHA256.hash(data: Array("Pay 10 EUR".utf8))))
    }

    @Test("A transaction alone survives writing and reading")
    func transactionAlone() throws {
        let transaction = Transaction(contentType: .imagePNG, content: [0x89, 0x50])
        #expect(try Transaction(json: transaction.json) == transaction)
    }

    @Test("A response survives writing and reading")
    func responseRoundTrip() throws {
        let response = try AuthenticationResponse(parsing: Parts.response("Auth").utf8)
        #expect(try AuthenticationResponse(parsing: response.serialized) == response)
        #expect(response.header.serverData == "state")
    }

    @Test("A client that failed sends no assertion (§18, row 15)")
    func failedClient() throws {
        let response = AuthenticationResponse(
            header: OperationHeader(operation: .authentication, serverData: "s"), fcParams: "", assertions: [])
        #expect(try AuthenticationResponse(parsing: response.serialized) == response)
    }

    @Test("A reader that does not know what it was sent finds out by the header")
    func anyRequest() throws {
        let registration = try UAFRequest(parsing: Parts.registrationRequest.utf8)
        #expect(registration == .registration(try RegistrationRequest(parsing: Parts.registrationRequest.utf8)))
        let authentication = try UAFRequest(parsing: Parts.authenticationRequest.utf8)
        #expect(authentication.header.operation == .authentication)
        let deregistration = try UAFRequest(parsing: Parts.deregistrationRequest.utf8)
        #expect(deregistration.header.operation == .deregistration)
        let bytes = try Sample(Parts.registrationRequest).setting("0.header.op", .string("Fly"))
        #expect(throws: UAFError(.wrongOperation)) { try UAFRequest(parsing: bytes) }
    }
}
