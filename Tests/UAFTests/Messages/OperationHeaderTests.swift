import Testing
import UAF
import _Primitives

@Suite("uaf-sections §2.1 and §2.6: header, extensions and framing, read through a registration request")
struct OperationHeaderTests {
    @Test("All members arrive")
    func allMembers() throws {
        let header = try RegistrationRequest(parsing: Parts.registrationRequest.utf8).header
        #expect(header.version == .uaf11)
        #expect(header.operation == .registration)
        #expect(header.appID == "https://uaf.example/facets")
        #expect(header.serverData == "state")
        #expect(header.extensions == [Extension(id: "some.extension", data: "", failIfUnknown: false)])
    }

    @Test("AppID, server data and extensions may be missing, and the AppID may be empty")
    func optionalMembers() throws {
        let sample = try Sample(Parts.registrationRequest)
        #expect(try RegistrationRequest(parsing: sample.setting("0.header.appID", nil)).header.appID.isEmpty)
        #expect(try RegistrationRequest(parsing: sample.setting("0.header.appID", .string(""))).header.appID.isEmpty)
        #expect(try RegistrationRequest(parsing: sample.setting("0.header.serverData", nil)).header.serverData == nil)
        #expect(try RegistrationRequest(parsing: sample.setting("0.header.exts", nil)).header.extensions.isEmpty)
    }

    @Test("Members that are not known are ignored")
    func unknownMembers() throws {
        let sample = try Sample(Parts.registrationRequest)
        let request = try RegistrationRequest(parsing: sample.setting("0.header.future", .bool(true)))
        #expect(try request == RegistrationRequest(parsing: Parts.registrationRequest.utf8))
    }

    @Test("Another version is for the receiver to judge, not for the reader")
    func otherVersion() throws {
        let sample = try Sample(Parts.registrationRequest)
        let request = try RegistrationRequest(parsing: sample.setting("0.header.upv.minor", .integer(7)))
        #expect(request.header.version == Version(major: 1, minor: 7))
    }

    @Test(
        "A broken header is refused",
        arguments: [
            BadChange("0.header", nil, .missingMember),
            BadChange("0.header", .string("x"), .wrongType),
            BadChange("0.header.upv", nil, .missingMember),
            BadChange("0.header.upv", .string("1.1"), .wrongType),
            BadChange("0.header.upv.major", nil, .missingMember),
            BadChange("0.header.upv.minor", nil, .missingMember),
            BadChange("0.header.upv.minor", .integer(65536), .wrongType),
            BadChange("0.header.upv.minor", .integer(-1), .wrongType),
            BadChange("0.header.upv.minor", .string("1"), .wrongType),
            BadChange("0.header.op", nil, .missingMember),
            BadChange("0.header.op", .string(""), .outOfRange),
            BadChange("0.header.op", .string("reg"), .wrongOperation),
            BadChange("0.header.op", .string("Auth"), .wrongOperation),
            BadChange("0.header.appID", text(513), .outOfRange),
            BadChange("0.header.serverData", .string(""), .outOfRange),
            BadChange("0.header.serverData", text(1537), .outOfRange),
            BadChange("0.header.serverData", .integer(1), .wrongType),
            BadChange("0.header.exts", .array([]), .outOfRange),
            BadChange("0.header.exts", .object([:]), .wrongType),
            BadChange("0.header.exts", .array([.string("x")]), .wrongType),
            BadChange("0.header.exts.0.id", nil, .missingMember),
            BadChange("0.header.exts.0.id", .string(""), .outOfRange),
            BadChange("0.header.exts.0.id", text(33), .outOfRange),
            BadChange("0.header.exts.0.data", nil, .missingMember),
            BadChange("0.header.exts.0.fail_if_unknown", nil, .missingMember),
            BadChange("0.header.exts.0.fail_if_unknown", .string("true"), .wrongType),
        ])
    func refuses(change: BadChange) throws {
        let bytes = try Sample(Parts.registrationRequest).setting(change.path, change.value)
        #expect(throws: UAFError(change.code)) { try RegistrationRequest(parsing: bytes) }
    }

    @Test(
        "Limits are counted in characters and reach exactly to their end",
        arguments: [("0.header.appID", 512), ("0.header.serverData", 1536), ("0.header.exts.0.id", 32)])
    func limits(path: String, count: Int) throws {
        let sample = try Sample(Parts.registrationRequest)
        #expect(throws: Never.self) { try RegistrationRequest(parsing: sample.setting(path, text(count))) }
    }

    @Test(
        "A message is an array of exactly one dictionary",
        arguments: [
            ("[]", UAFError.Code.wrongArraySize),
            ("[{},{}]", .wrongArraySize),
            ("{}", .wrongType),
            ("[1]", .wrongType),
            ("\"x\"", .wrongType),
            ("", .malformedJSON),
            ("[{]", .malformedJSON),
            ("[{}] x", .malformedJSON),
            ("[null]", .malformedJSON),
            ("[{\"header\":null}]", .malformedJSON),
            ("[{\"header\":{},\"header\":{}}]", .malformedJSON),
            ("[{}]", .missingMember),
        ])
    func framing(text: String, code: UAFError.Code) {
        #expect(throws: UAFError(code)) { try RegistrationRequest(parsing: text.utf8) }
        #expect(throws: UAFError(code)) { try AuthenticationRequest(parsing: text.utf8) }
        #expect(throws: UAFError(code)) { try DeregistrationRequest(parsing: text.utf8) }
        #expect(throws: UAFError(code)) { try RegistrationResponse(parsing: text.utf8) }
        #expect(throws: UAFError(code)) { try AuthenticationResponse(parsing: text.utf8) }
        #expect(throws: UAFError(code)) { try UAFRequest(parsing: text.utf8) }
    }

    @Test("A message of more than 64 KiB is refused before it is read")
    func oversized() {
        let text = "[{\"x\":\"" + String(repeating: "a", count: 65_536) + "\"}]"
        #expect(throws: UAFError(.malformedJSON)) { try RegistrationRequest(parsing: text.utf8) }
    }
}
