import Testing
import UAF
import _Primitives

@Suite("uaf-sections §2.5: deregistration")
struct DeregistrationTests {
    private static func message(version minor: Int, _ authenticators: String) -> String {
        """
        [{"header":{"upv":{"major":1,"minor":\(minor)},"op":"Dereg"},"authenticators":\(authenticators)}]
        """
    }

    @Test("A request survives writing and reading")
    func roundTrip() throws {
        let request = try DeregistrationRequest(parsing: Parts.deregistrationRequest.utf8)
        #expect(request.authenticators.map(\.aaid?.text) == ["C516#0001", "C516#0003"])
        #expect(try DeregistrationRequest(parsing: request.serialized) == request)
    }

    @Test("One entry may mean all keys of a model, or all keys")
    func wildcards() throws {
        let aaid = try AAID("C516#0001")
        for entry in [DeregisterAuthenticator.allKeys(of: aaid), .everything] {
            let request = DeregistrationRequest(
                header: OperationHeader(operation: .deregistration), authenticators: [entry])
            #expect(try DeregistrationRequest(parsing: request.serialized).authenticators == [entry])
        }
    }

    @Test("A KeyID without AAID is refused")
    func keyIDAlone() {
        let text = Self.message(version: 1, "[{\"aaid\":\"\",\"keyID\":\"\(Parts.keyID)\"}]")
        #expect(throws: UAFError(.invalidValue)) { try DeregistrationRequest(parsing: text.utf8) }
    }

    @Test("An entry with an empty member must stand alone", arguments: ["", "C516#0001"])
    func wildcardBesideOthers(aaid: String) {
        let text = Self.message(
            version: 1,
            "[{\"aaid\":\"\(aaid)\",\"keyID\":\"\"},{\"aaid\":\"C516#0003\",\"keyID\":\"\(Parts.keyID)\"}]")
        #expect(throws: UAFError(.invalidValue)) { try DeregistrationRequest(parsing: text.utf8) }
    }

    @Test("UAF 1.0 has no entries with empty members (§18, row 17)")
    func wildcardInUAF10() {
        let text = Self.message(version: 0, "[{\"aaid\":\"\",\"keyID\":\"\"}]")
        #expect(throws: UAFError(.invalidValue)) { try DeregistrationRequest(parsing: text.utf8) }
    }

    @Test(
        "A broken request is refused",
        arguments: [
            BadChange("0.authenticators", nil, .missingMember),
            BadChange("0.authenticators", .array([]), .outOfRange),
            BadChange("0.authenticators.0", .string("x"), .wrongType),
            BadChange("0.authenticators.0.aaid", nil, .missingMember),
            BadChange("0.authenticators.0.aaid", .string("C516"), .invalidValue),
            BadChange("0.authenticators.0.aaid", .string("C516#00011"), .outOfRange),
            BadChange("0.authenticators.0.keyID", nil, .missingMember),
            BadChange("0.authenticators.0.keyID", .string("AAAA"), .outOfRange),
            BadChange("0.header.op", .string("Reg"), .wrongOperation),
        ])
    func refuses(change: BadChange) throws {
        let bytes = try Sample(Parts.deregistrationRequest).setting(change.path, change.value)
        #expect(throws: UAFError(change.code)) { try DeregistrationRequest(parsing: bytes) }
    }
}
