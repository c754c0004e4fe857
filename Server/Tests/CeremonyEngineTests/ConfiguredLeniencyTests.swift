import Accounts
import CeremonyEngine
import Foundation
import Testing
import UAF
import UAFRelyingParty
import _Primitives

@Suite("uaf-sections §8.2 steps 1, 9 and 11: what a deployment takes beyond the strict default")
struct ConfiguredLeniencyTests {
    private static let aaid = "FFFF#B501"

    /// A model whose metadata trusts version 2, and that can be attested in two ways.
    private static func server(_ adjust: (inout CeremonyConfiguration) -> Void) throws -> TestServer {
        var metadata = try MetadataCatalog.builtIn()
        metadata.add(
            try MetadataStatement(
                parsing: Array(
                    """
                    {"aaid":"\(Self.aaid)","description":"Another maker's","authenticatorVersion":2,
                    "upv":[{"major":1,"minor":1}],"assertionScheme":"UAFV1TLV","authenticationAlgorithm":1,
                    "publicKeyAlgAndEncoding":256,"attestationTypes":[15879,15880],
                    "userVerificationDetails":[[{"userVerification":2}]],"keyProtection":2,"matcherProtection":2,
                    "attachmentHint":1,"isSecondFactorOnly":false,"tcDisplay":1,"tcDisplayContentType":"text/plain",
                    "attestationRootCertificates":[]}
                    """.utf8)))
        var any = MatchCriteria()
        any.vendorID = ["FFFF"]
        any.authenticationAlgorithms = [.p256Raw]
        any.assertionSchemes = [.uafV1TLV]
        any.attestationTypes = [.basicFull, .basicSurrogate]
        var policies = PolicyCatalog()
        try policies.add(Policy(accepted: [[any]]), named: "maker", metadata: metadata)
        let (known, named) = (metadata, policies)
        return try TestServer {
            $0.metadata = known
            $0.policies = named
            adjust(&$0)
        }
    }

    private static func status(_ server: TestServer) async throws -> UAFStatusCode {
        _ = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let enrolment = try await server.engine.enrolments.createEnrolmentLink(
            username: "alice", policy: "maker", by: "test")
        let request = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(enrolment.link), operation: .registration)
        let phone = try TestPhone(aaid: try AAID(Self.aaid))
        return try await server.engine.registrationAnswers.judge(try phone.register(request)).statusCode
    }

    @Test("A less preferred attestation and an outdated authenticator, each by an option of its own")
    func registration() async throws {
        #expect(try await Self.status(try Self.server { _ in }) == .unacceptableAttestation)
        #expect(
            try await Self.status(try Self.server { $0.acceptsOutdatedAuthenticators = true })
                == .unacceptableAttestation)
        #expect(
            try await Self.status(try Self.server { $0.acceptsLessPreferredAttestation = true })
                == .unacceptableContent)
        let both = try Self.server {
            $0.acceptsLessPreferredAttestation = true
            $0.acceptsOutdatedAuthenticators = true
        }
        #expect(try await Self.status(both) == .accepted)
    }

    @Test("UAF 1.0, where it is spoken beside 1.1")
    func version() async throws {
        for versions: Set<Version> in [[.uaf11], [.uaf10, .uaf11]] {
            let server = try TestServer { $0.versions = versions }
            let (_, phone) = try await server.enrol()
            let request = try await server.engine.requests.authentication(username: nil, source: "a")
            var message = try phone.authenticate(request, counter: 2)
            message.uafResponse = message.uafResponse.replacing(
                #""upv":{"major":1,"minor":1}"#, with: #""upv":{"major":1,"minor":0}"#)
            let answer = try await server.engine.authenticationAnswers.judge(message)
            #expect(answer.response.statusCode == (versions.contains(.uaf10) ? .ok : .unacceptableContent))
            #expect(server.engine.versions == versions.sorted())
        }
    }
}
