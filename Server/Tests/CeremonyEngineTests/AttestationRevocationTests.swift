import Accounts
import CeremonyEngine
import CountersignTestKit
import Crypto
import Foundation
import Records
import SQLStore
import Testing
import UAF
import UAFRelyingParty
import _Primitives

@Suite("uaf-sections §8.2 step 14: what is revoked after a registration stops the keys that it attested")
struct AttestationRevocationTests {
    private static let aaid = "FFFF#A701"

    private struct Maker {
        let aaid: AAID
        let certificates: TestCertificates
        let metadata: MetadataCatalog
        let policies: PolicyCatalog

        /// With the root in the metadata, or the authority below it.
        init(listing: Listing = .root) throws {
            self.aaid = try AAID(AttestationRevocationTests.aaid)
            self.certificates = try TestCertificates(rsa: false, aaid: self.aaid, random: .system)
            var metadata = try MetadataCatalog.builtIn()
            let listed = listing == .root ? self.certificates.root : self.certificates.chain[1]
            let root = Data(listed).base64EncodedString()
            metadata.add(
                try MetadataStatement(
                    parsing: Array(
                        """
                        {"aaid":"\(AttestationRevocationTests.aaid)","description":"Another maker's","authenticatorVersion":1,
                        "upv":[{"major":1,"minor":1}],"assertionScheme":"UAFV1TLV","authenticationAlgorithm":1,
                        "publicKeyAlgAndEncoding":256,"attestationTypes":[15879],
                        "userVerificationDetails":[[{"userVerification":2}]],"keyProtection":2,"matcherProtection":2,
                        "attachmentHint":1,"isSecondFactorOnly":false,"tcDisplay":1,"tcDisplayContentType":"text/plain",
                        "attestationRootCertificates":["\(root)"]}
                        """.utf8)))
            var policies = PolicyCatalog()
            try policies.add(
                Policy(accepted: [[MatchCriteria(aaid: [self.aaid])]]), named: "maker", metadata: metadata)
            self.metadata = metadata
            self.policies = policies
        }

        func server() throws -> TestServer {
            try TestServer {
                $0.metadata = self.metadata
                $0.policies = self.policies
            }
        }
    }

    /// At which certificate the metadata has the path end. The phone sends all those before it.
    enum Listing: CaseIterable, Sendable {
        case root, authority
    }

    /// What an operator writes into `revoked.json`, and whether it is about the phone.
    enum Revocation: CaseIterable, Sendable {
        case leaf, leafKey, authority, authorityKey, root, rootKey, otherNumber, sameNumberOfAnotherModel, otherKey

        func isAboutThePhone(_ listing: Listing) -> Bool {
            switch self {
            case .leaf, .leafKey, .authority, .authorityKey: true
            case .root, .rootKey: listing == .root
            case .otherNumber, .sameNumberOfAnotherModel, .otherKey: false
            }
        }

        func list(_ certificates: TestCertificates) throws -> RevocationList {
            func certificate(_ aaid: String, _ number: String) -> String {
                #"{"certificates":[{"aaid":"\#(aaid)","serialNumber":"\#(number)"}]}"#
            }
            func key(_ bytes: [UInt8]) -> String {
                let digest = SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined()
                return #"{"keys":["\#(digest)"]}"#
            }
            let text =
                switch self {
                case .leaf: certificate(AttestationRevocationTests.aaid, "0003")
                case .authority: certificate(AttestationRevocationTests.aaid, "02")
                case .root: certificate(AttestationRevocationTests.aaid, "01")
                case .otherNumber: certificate(AttestationRevocationTests.aaid, "0300")
                case .sameNumberOfAnotherModel: certificate("C516#0001", "03")
                case .leafKey: key(try certificates.leafKey.publicKey(.x962DER))
                case .authorityKey: key(try certificates.intermediateKey.publicKey(.x962DER))
                case .rootKey: key(try certificates.rootKey.publicKey(.x962DER))
                case .otherKey: key(Array(P256.Signing.PrivateKey().publicKey.derRepresentation))
                }
            return try RevocationList(parsing: Array(text.utf8))
        }
    }

    @Test(
        "A certificate or its key, revoked later, refuses the key with 1493, though the phone never sent it",
        arguments: Revocation.allCases, Listing.allCases)
    func revokedLater(revocation: Revocation, listing: Listing) async throws {
        let maker = try Maker(listing: listing)
        let server = try maker.server()
        _ = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let phone = try TestPhone(
            aaid: maker.aaid, attestedBy: maker.certificates, sending: listing == .root ? 2 : 1)
        let enrolment = try await server.engine.enrolments.createEnrolmentLink(
            username: "alice", policy: "maker", by: "test")
        let request = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(enrolment.link), operation: .registration)
        let number = try await server.engine.registrationAnswers.judge(try phone.register(request)).confirmation?.number
        _ = try await server.engine.enrolments.confirmEnrolment(
            id: enrolment.id, number: try #require(number), by: "test")
        func answer(_ counter: UInt32) async throws -> UAFStatusCode {
            let request = try await server.engine.requests.authentication(username: "alice", policy: "maker")
            return try await server.engine.authenticationAnswers.judge(
                try phone.authenticate(request, counter: counter)
            )
            .response.statusCode
        }
        #expect(try await answer(2) == .ok)
        var metadata = maker.metadata
        metadata.revoke(try revocation.list(maker.certificates))
        try server.engine.replaceRules(metadata: metadata, policies: maker.policies, channelBinding: .ignore)
        #expect(try await answer(3) == (revocation.isAboutThePhone(listing) ? .revokedAuthenticator : .ok))
        // What is taken off the list again is good again.
        try server.engine.replaceRules(
            metadata: maker.metadata, policies: maker.policies, channelBinding: .ignore)
        #expect(try await answer(4) == .ok)
    }

    @Test("What is kept is read as it was written, and nothing else is read")
    func evidence() throws {
        let digest = [UInt8](repeating: 9, count: 32)
        let evidence = try AttestationEvidence(stored: [1, 3] + digest + [1, 2] + digest)
        #expect(evidence != AttestationEvidence())
        #expect(evidence.stored == [1, 3] + digest + [1, 2] + digest)
        #expect(try AttestationEvidence(stored: []) == AttestationEvidence())
        for length in 1..<evidence.stored.count where length != 34 {
            #expect(throws: UAFError.self) { try AttestationEvidence(stored: Array(evidence.stored.prefix(length))) }
        }
        #expect(throws: UAFError.self) { try AttestationEvidence(stored: [255] + evidence.stored) }
    }
}
