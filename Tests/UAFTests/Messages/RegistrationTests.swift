import Testing
import UAF
import _Primitives

@Suite("uaf-sections §2.3: registration messages")
struct RegistrationTests {
    @Test("A request survives writing and reading")
    func requestRoundTrip() throws {
        let request = try RegistrationRequest(parsing: Parts.registrationRequest.utf8)
        #expect(request.username == "alice")
        #expect(request.challenge.text == Parts.challenge)
        #expect(request.policy.accepted.count == 2)
        #expect(try RegistrationRequest(parsing: request.serialized) == request)
    }

    @Test(
        "A broken request is refused",
        arguments: [
            BadChange("0.challenge", nil, .missingMember),
            BadChange("0.challenge", .string(""), .outOfRange),
            BadChange("0.challenge", .string("AAAA"), .outOfRange),
            BadChange("0.challenge", .string(Base64URL.encode(bytes(65))), .outOfRange),
            BadChange("0.challenge", .string("AAAAAAAAAAA="), .invalidBase64URL),
            BadChange("0.challenge", .integer(5), .wrongType),
            BadChange("0.username", nil, .missingMember),
            BadChange("0.username", .string(""), .outOfRange),
            BadChange("0.username", text(129), .outOfRange),
            BadChange("0.username", .bool(true), .wrongType),
            BadChange("0.policy", nil, .missingMember),
            BadChange("0.policy", .array([]), .wrongType),
        ])
    func refusesRequest(change: BadChange) throws {
        let bytes = try Sample(Parts.registrationRequest).setting(change.path, change.value)
        #expect(throws: UAFError(change.code)) { try RegistrationRequest(parsing: bytes) }
    }

    @Test("A username of 128 characters is taken")
    func longestUsername() throws {
        let bytes = try Sample(Parts.registrationRequest).setting("0.username", text(128))
        #expect(try RegistrationRequest(parsing: bytes).username.count == 128)
    }

    @Test("A response survives writing and reading, its parameters letter by letter")
    func responseRoundTrip() throws {
        let response = try RegistrationResponse(parsing: Parts.response("Reg").utf8)
        #expect(response.fcParams == "eyJhIjoxfQ")
        #expect(response.assertions.map(\.bytes) == [[0x01, 0x3E, 0x00, 0x00]])
        #expect(response.assertions[0].scheme == .uafV1TLV)
        #expect(response.assertions[0].extensions == [Extension(id: "x", data: "y", failIfUnknown: false)])
        #expect(try RegistrationResponse(parsing: response.serialized) == response)
    }

    @Test("Parameters with padding and line breaks are kept as they came: their letters are hashed (§18, row 1)")
    func fcParamsAreNotTouched() throws {
        let odd = "eyJhIjox\nfQ=="
        let bytes = try Sample(Parts.response("Reg")).setting("0.fcParams", .string(odd))
        let response = try RegistrationResponse(parsing: bytes)
        #expect(response.fcParams == odd)
        #expect(try RegistrationResponse(parsing: response.serialized).fcParams == odd)
    }

    @Test("A client that failed sends no assertion, and then perhaps no parameters (§18, row 15)")
    func failedClient() throws {
        let response = RegistrationResponse(
            header: OperationHeader(operation: .registration), fcParams: "", assertions: [])
        #expect(try RegistrationResponse(parsing: response.serialized) == response)
    }

    @Test(
        "A broken response is refused",
        arguments: [
            BadChange("0.fcParams", nil, .missingMember),
            BadChange("0.fcParams", .string(""), .outOfRange),
            BadChange("0.fcParams", .object([:]), .wrongType),
            BadChange("0.assertions", nil, .missingMember),
            BadChange("0.assertions", .object([:]), .wrongType),
            BadChange("0.assertions.0", .string("AT4AAA"), .wrongType),
            BadChange("0.assertions.0.assertionScheme", nil, .missingMember),
            BadChange("0.assertions.0.assertionScheme", .string(""), .outOfRange),
            BadChange("0.assertions.0.assertion", nil, .missingMember),
            BadChange("0.assertions.0.assertion", .string(""), .outOfRange),
            BadChange("0.assertions.0.assertion", .string("AT4AA"), .malformedAssertion),
            BadChange("0.assertions.0.assertion", .string("AT4AAA=="), .malformedAssertion),
            BadChange("0.assertions.0.assertion", .string(Base64URL.encode(bytes(4097))), .malformedAssertion),
            BadChange("0.assertions.0.exts", .array([]), .outOfRange),
        ])
    func refusesResponse(change: BadChange) throws {
        for operation in ["Reg", "Auth"] {
            let bytes = try Sample(Parts.response(operation)).setting(change.path, change.value)
            #expect(throws: UAFError(change.code)) {
                if operation == "Reg" {
                    _ = try RegistrationResponse(parsing: bytes)
                } else {
                    _ = try AuthenticationResponse(parsing: bytes)
                }
            }
        }
    }

    @Test("An assertion of 4096 bytes is taken")
    func longestAssertion() throws {
        let bytes = try Sample(Parts.response("Reg")).setting(
            "0.assertions.0.assertion", .string(Base64URL.encode(bytes(4096))))
        #expect(try RegistrationResponse(parsing: bytes).assertions[0].bytes.count == 4096)
    }

    @Test("A response of the other operation is refused")
    func swappedOperation() {
        #expect(throws: UAFError(.wrongOperation)) { try RegistrationResponse(parsing: Parts.response("Auth").utf8) }
        #expect(throws: UAFError(.wrongOperation)) { try AuthenticationResponse(parsing: Parts.response("Reg").utf8) }
    }
}
