import Accounts
import CeremonyEngine
import CountersignTestKit
import Foundation
import Records
import SQLStore
import Testing
import UAF
import UAFRelyingParty
import _Primitives

/// Two phones' answers to one request as one: the keys of one device, each in its assertion.
func together(_ first: SendUAFResponse, _ second: SendUAFResponse, _ operation: UAF.Operation) throws
    -> SendUAFResponse
{
    var joined = first
    if operation == .registration {
        var message = try RegistrationResponse(parsing: first.uafResponse.utf8)
        message.assertions += try RegistrationResponse(parsing: second.uafResponse.utf8).assertions
        joined.uafResponse = String(decoding: message.serialized, as: UTF8.self)
    } else {
        var message = try AuthenticationResponse(parsing: first.uafResponse.utf8)
        message.assertions += try AuthenticationResponse(parsing: second.uafResponse.utf8).assertions
        joined.uafResponse = String(decoding: message.serialized, as: UTF8.self)
    }
    return joined
}

@Suite("What relying parties are told of an authentication (RFC 8176, uaf-sections §16)")
struct AssuranceTests {
    private static let aaid = "FFFF#A702"

    /// Another maker's model that claims hardware for key and matcher: attested by certificates or by itself.
    private static func statement(_ certificates: TestCertificates?, verifies method: Int = 16) throws
        -> MetadataStatement
    {
        let root = certificates.map { "\"\(Data($0.root).base64EncodedString())\"" } ?? ""
        return try MetadataStatement(
            parsing: Array(
                """
                {"aaid":"\(Self.aaid)","description":"Another maker's","authenticatorVersion":1,
                "upv":[{"major":1,"minor":1}],"assertionScheme":"UAFV1TLV","authenticationAlgorithm":1,
                "publicKeyAlgAndEncoding":256,"attestationTypes":[\(certificates == nil ? 15880 : 15879)],
                "userVerificationDetails":[[{"userVerification":\(method)}]],"keyProtection":6,"matcherProtection":2,
                "attachmentHint":1,"isSecondFactorOnly":false,"tcDisplay":1,"tcDisplayContentType":"text/plain",
                "attestationRootCertificates":[\(root)]}
                """.utf8))
    }

    private static func server(_ statement: MetadataStatement) throws -> TestServer {
        var metadata = try MetadataCatalog.builtIn()
        metadata.add(statement)
        var policies = PolicyCatalog()
        try policies.add(
            Policy(accepted: [[MatchCriteria(aaid: [statement.aaid])]]), named: "maker", metadata: metadata)
        let (known, named) = (metadata, policies)
        return try TestServer {
            $0.metadata = known
            $0.policies = named
        }
    }

    /// Confirms a payment with the model's key and gives what the bank is told.
    private static func confirm(_ server: TestServer, _ phone: TestPhone) async throws -> ConfirmedTransaction? {
        let account = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let enrolment = try await server.engine.enrolments.createEnrolmentLink(
            username: "alice", policy: "maker", by: "test")
        let registration = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(enrolment.link), operation: .registration)
        let number = try await server.engine.registrationAnswers.judge(try phone.register(registration)).confirmation?
            .number
        _ = try await server.engine.enrolments.confirmEnrolment(
            id: enrolment.id, number: try #require(number), by: "test")
        let transaction = Transaction(content: Array("Pay 5 EUR".utf8))
        let dispatched = try await server.engine.dispatches.dispatch(
            DispatchRequest(
                dispatcher: "png-qr-code", operation: .authentication,
                context: [
                    "subject": .string("bank|\(account.id)"), "policy": .string("maker"),
                    "transaction": .array([.object(transaction.json)]),
                ]),
            client: server.bank)
        let request = try await server.engine.redemptions.redeem(
            token: try #require(dispatched.token), operation: .authentication)
        let answer = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        #expect(answer.response.statusCode == .ok)
        return try await server.engine.sessions.status(
            sessionID: try #require(dispatched.sessionID), clientID: server.bank.id
        ).confirmation
    }

    /// What somebody has, how it proves itself, and what is told then.
    struct Level: Sendable, CustomTestStringConvertible {
        /// A face, or presence alone (FIDO Registry of Predefined Values, section 3.1).
        let method: Int
        let isAttested: Bool
        let level: AssuranceLevel

        var testDescription: String { self.level.rawValue }

        static let all = [
            Level(method: 16, isAttested: true, level: .twoFactorInHardware),
            Level(method: 16, isAttested: false, level: .twoFactor),
            Level(method: 1, isAttested: true, level: .oneFactorInHardware),
            Level(method: 1, isAttested: false, level: .oneFactor),
        ]
    }

    @Test("Each level that discovery names is one that a person can reach", arguments: Level.all)
    func everyLevel(_ expected: Level) async throws {
        #expect(Set(Level.all.map(\.level)) == Set(AssuranceLevel.allCases), "these are all")
        let aaid = try AAID(Self.aaid)
        let certificates = expected.isAttested ? try TestCertificates(rsa: false, aaid: aaid, random: .system) : nil
        let server = try Self.server(try Self.statement(certificates, verifies: expected.method))
        let phone = try TestPhone(aaid: aaid, attestedBy: certificates)
        #expect(try await Self.confirm(server, phone)?.acr == expected.level.rawValue)
    }

    @Test("Another maker's hardware counts as such when its certificates vouched for the key at the registration")
    func attested() async throws {
        let certificates = try TestCertificates(rsa: false, aaid: try AAID(Self.aaid), random: .system)
        let server = try Self.server(try Self.statement(certificates))
        let phone = try TestPhone(aaid: try AAID(Self.aaid), attestedBy: certificates)
        let told = try await Self.confirm(server, phone)
        #expect(told?.amr == ["face", "hwk", "mfa"])
        #expect(told?.acr == "urn:countersign:acr:two-factor-hardware")
    }

    @Test("Attested by itself the same model is software, whatever its metadata claims")
    func surrogate() async throws {
        let server = try Self.server(try Self.statement(nil))
        let told = try await Self.confirm(server, try TestPhone(aaid: try AAID(Self.aaid)))
        #expect(told?.amr == ["face", "swk", "mfa"])
        #expect(told?.acr == "urn:countersign:acr:two-factor")
    }

    @Test("Two keys in one response: a PIN and the device, registered together, sign a browser in together")
    func pinAndDevice() async throws {
        let server = try TestServer {
            $0.factors = [[.pin, .devicePossession]]
            $0.enrolmentFactors = [[.pin, .devicePossession]]
        }
        let account = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let (pin, device) = (try TestPhone(), try TestPhone(factor: .devicePossession))
        func redeem() async throws -> (request: ReturnUAFRequest, enrolment: EnrolmentLink) {
            let enrolment = try await server.engine.enrolments.createEnrolmentLink(username: "alice", by: "test")
            return (
                try await server.engine.redemptions.redeem(
                    token: try TestPhone.token(enrolment.link), operation: .registration), enrolment
            )
        }
        // Neither alone is what was asked for.
        for phone in [pin, device] {
            let answer = try await server.engine.registrationAnswers.judge(
                try phone.register(try await redeem().request))
            #expect(answer.statusCode == .unacceptableAuthenticator)
        }
        let (registration, enrolment) = try await redeem()
        let answer = try await server.engine.registrationAnswers.judge(
            try together(try pin.register(registration), try device.register(registration), .registration))
        #expect(answer.statusCode == .accepted)
        _ = try await server.engine.enrolments.confirmEnrolment(
            id: enrolment.id, number: try #require(answer.confirmation?.number), by: "test")
        let keys = try await server.database.credentials(accountID: account.id)
        #expect(Set(keys.map(\.aaid)) == ["C516#0001", "C516#0006"] && Set(keys.map(\.deviceID)).count == 1)

        for (number, phone) in [pin, device].enumerated() {
            let request = try await server.claimSignIn("alone \(number)")
            let alone = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
            #expect(alone.response.statusCode == .unacceptableAuthenticator)
        }
        let request = try await server.claimSignIn()
        let both = try await server.engine.authenticationAnswers.judge(
            try together(
                try pin.authenticate(request, counter: 2), try device.authenticate(request, counter: 2),
                .authentication))
        #expect(both.response.statusCode == .ok)
        let outcome = try await server.engine.signIns.consume(
            reference: "request", browser: server.browser, client: "demo-bank")
        #expect(outcome?.amr == ["pin", "swk", "mfa"] && outcome?.acr == "urn:countersign:acr:two-factor")
        let advanced = try await server.database.credentials(accountID: account.id)
        #expect(advanced.map(\.counter) == [2, 2])

        // A second phone's possession does not stand in for the first one's.
        let stranger = try await server.claimSignIn("stranger")
        let other = try await server.engine.authenticationAnswers.judge(
            try together(
                try pin.authenticate(stranger, counter: 3),
                try TestPhone(factor: .devicePossession).authenticate(stranger, counter: 3), .authentication))
        #expect(other.response.statusCode == .unknownKeyID)
    }
}
