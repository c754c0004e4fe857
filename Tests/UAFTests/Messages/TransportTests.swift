import Testing
import UAF
import _Primitives

@Suite("uaf-sections §6.2: bodies of the HTTPS transport")
struct TransportTests {
    @Test("GetUAFRequest carries its context as a string of JSON")
    func getRequest() throws {
        let body = GetUAFRequest(operation: .authentication, context: ["username": .string("alice")])
        #expect(
            String(decoding: body.serialized, as: UTF8.self)
                == #"{"op":"Auth","context":"{\"username\":\"alice\"}"}"#)
        #expect(try GetUAFRequest(parsing: body.serialized) == body)
        #expect(try GetUAFRequest(json: body.json) == body)
        #expect(try GetUAFRequest(parsing: "{}".utf8) == GetUAFRequest(operation: nil))
    }

    @Test(
        "A context that is not a string of a JSON object is refused",
        arguments: [
            ("{\"context\":{}}", UAFError.Code.wrongType),
            ("{\"context\":\"\"}", .outOfRange),
            ("{\"context\":\"[]\"}", .wrongType),
            ("{\"context\":\"{\"}", .malformedJSON),
            ("{\"context\":\"{\\\"a\\\":null}\"}", .malformedJSON),
            ("{\"op\":\"\"}", .outOfRange),
            ("[]", .wrongType),
            ("", .malformedJSON),
        ])
    func badContext(text: String, code: UAFError.Code) {
        #expect(throws: UAFError(code)) { try GetUAFRequest(parsing: text.utf8) }
    }

    @Test("ReturnUAFRequest survives writing and reading, with who asks")
    func returnRequest() throws {
        let body = ReturnUAFRequest(
            statusCode: .ok, operation: .authentication, uafRequest: Parts.authenticationRequest,
            lifetimeMilliseconds: 180_000,
            requester: ReturnUAFRequest.Requester(
                service: "Demo Bank", origin: "http://127.0.0.1:8081", address: "127.0.0.1", browser: "Chrome on Linux",
                browserID: "AAAA"), dispatchChannel: "link-png-qr-code")
        let read = try ReturnUAFRequest(parsing: body.serialized)
        #expect(read == body)
        let message = try #require(read.uafRequest)
        #expect(throws: Never.self) { try AuthenticationRequest(parsing: message.utf8) }
        let bare = ReturnUAFRequest(statusCode: .notFound)
        #expect(try ReturnUAFRequest(parsing: bare.serialized) == bare)
        let anonymous = ReturnUAFRequest(statusCode: .ok, requester: ReturnUAFRequest.Requester())
        #expect(try ReturnUAFRequest(parsing: anonymous.serialized) == anonymous)
    }

    @Test(
        "A broken ReturnUAFRequest is refused",
        arguments: [
            BadChange("statusCode", nil, .missingMember),
            BadChange("statusCode", .string("1200"), .wrongType),
            BadChange("uafRequest", .array([]), .wrongType),
            BadChange("uafRequest", .string(""), .outOfRange),
            BadChange("lifetimeMillis", .string("x"), .wrongType),
            BadChange("requester", .string("x"), .wrongType),
            BadChange("requester.service", .string(""), .outOfRange),
            BadChange("requester.origin", text(513), .outOfRange),
            BadChange("dispatchChannel", text(65), .outOfRange),
        ])
    func badReturnRequest(change: BadChange) throws {
        let body = ReturnUAFRequest(
            statusCode: .ok, uafRequest: "[]", lifetimeMilliseconds: 1,
            requester: ReturnUAFRequest.Requester(service: "s"),
            dispatchChannel: "link")
        let bytes = try Sample(body.serialized).setting(change.path, change.value)
        #expect(throws: UAFError(change.code)) { try ReturnUAFRequest(parsing: bytes) }
    }

    @Test("SendUAFResponse survives writing and reading")
    func sendResponse() throws {
        let body = SendUAFResponse(
            uafResponse: Parts.response("Auth"),
            context: ["deviceName": .string("phone"), "clientErrorCode": .integer(3)]
        )
        #expect(try SendUAFResponse(parsing: body.serialized) == body)
        let bare = SendUAFResponse(uafResponse: "[]")
        #expect(try SendUAFResponse(parsing: bare.serialized) == bare)
    }

    @Test(
        "A broken SendUAFResponse is refused",
        arguments: [
            ("{}", UAFError.Code.missingMember),
            ("{\"uafResponse\":[]}", .wrongType),
            ("{\"uafResponse\":\"\"}", .outOfRange),
            ("{\"uafResponse\":\"[]\",\"context\":{}}", .wrongType),
        ])
    func badSendResponse(text: String, code: UAFError.Code) {
        #expect(throws: UAFError(code)) { try SendUAFResponse(parsing: text.utf8) }
    }

    @Test("ServerResponse survives writing and reading")
    func serverResponse() throws {
        let body = ServerResponse(
            statusCode: .accepted, description: "waiting", additionalTokens: [Token(kind: .jwt, value: "a.b.c")],
            location: "http://localhost:8080/sign-in/continue?code=x", newUAFRequest: Parts.deregistrationRequest,
            confirmation: .init(number: "482913", expiresInSeconds: 600), deviceKey: "a-thumbprint")
        #expect(try ServerResponse(parsing: body.serialized) == body)
        let bare = ServerResponse(statusCode: .ok)
        #expect(try ServerResponse(parsing: bare.serialized) == bare)
        #expect(String(decoding: bare.serialized, as: UTF8.self) == "{\"statusCode\":1200}")
    }

    @Test(
        "A broken ServerResponse is refused",
        arguments: [
            BadChange("statusCode", nil, .missingMember),
            BadChange("additionalTokens", .array([]), .outOfRange),
            BadChange("additionalTokens.0.type", nil, .missingMember),
            BadChange("additionalTokens.0.value", .string(""), .outOfRange),
            BadChange("confirmation.number", nil, .missingMember),
            BadChange("confirmation.number", .integer(5), .wrongType),
            BadChange("confirmation.number", text(0), .outOfRange),
            BadChange("confirmation.number", .string(String(repeating: "1", count: 33)), .outOfRange),
            BadChange("confirmation.number", .string("12 34"), .invalidValue),
            BadChange("confirmation.number", .string("12\u{1B}[2J"), .invalidValue),
            BadChange("confirmation.number", .string("١٢٣٤٥٦"), .invalidValue),
            BadChange("confirmation.expiresInSeconds", nil, .missingMember),
            BadChange("confirmation.expiresInSeconds", .integer(-1), .outOfRange),
            BadChange("confirmation.expiresInSeconds", .integer(86_401), .outOfRange),
            BadChange("confirmation.expiresInSeconds", .integer(.max), .outOfRange),
            BadChange("confirmation.expiresInSeconds", .integer(.min), .outOfRange),
            BadChange("location", .string(""), .outOfRange),
            BadChange("deviceKey", .string(""), .outOfRange), BadChange("deviceKey", .integer(1), .wrongType),
            BadChange("deviceKey", .string(String(repeating: "a", count: 129)), .outOfRange),
        ])
    func badServerResponse(change: BadChange) throws {
        let body = ServerResponse(
            statusCode: .ok, additionalTokens: [Token(kind: .oauth2, value: "t")], location: "l",
            confirmation: .init(number: "1", expiresInSeconds: 1))
        let bytes = try Sample(body.serialized).setting(change.path, change.value)
        #expect(throws: UAFError(change.code)) { try ServerResponse(parsing: bytes) }
    }

    @Test("A number can be given for no time, or for a day", arguments: [0, 86_400])
    func confirmationLifetimes(seconds: Int) throws {
        let body = ServerResponse(
            statusCode: .accepted, confirmation: .init(number: "012345", expiresInSeconds: seconds))
        #expect(try ServerResponse(parsing: body.serialized) == body)
    }

    @Test("A server's answer shows neither the address of a continuation nor a token")
    func responseIsSecret() {
        let response = ServerResponse(
            statusCode: .ok, additionalTokens: [Token(kind: .jwt, value: "secret-token")],
            location: "https://id.example.com/sign-in/continue?code=secret-code")
        var dumped = ""
        dump([response], to: &dumped)
        for shown in [dumped, "\(response)", String(reflecting: response), "\([response])"] {
            #expect(!shown.contains("secret-") && shown.contains("1200"))
        }
    }

    @Test("A token does not show its value")
    func tokenIsSecret() {
        let token = Token(kind: .httpCookie, value: "secret-value")
        #expect(token.description == "Token(HTTP_COOKIE)")
        var dumped = ""
        dump(token, to: &dumped)
        #expect(!dumped.contains("secret-value") && !"\(token)".contains("secret-value"))
    }
}
