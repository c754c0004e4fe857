import Foundation
import SwiftASN1
import Testing
import UAF
import UAFRelyingParty
@_spi(FixedExpiryValidationTime) import X509
import _Primitives

/// The paths of the attestation's own tests, judged by swift-certificates' verifier too. Where the two differ is written
/// down, so that a change of either shows.
@Suite("decision 24, RFC 5280 §6.1: attestation paths before a second verifier")
struct SecondOpinionTests {
    /// Whether swift-certificates takes a path with the rules of RFC 5280, to one of the roots.
    private func isTaken(_ path: [[UInt8]], roots: [[UInt8]]) async -> Bool {
        guard let certificates = try? path.map({ try Certificate(derEncoded: $0) }), let leaf = certificates.first,
            let anchors = try? roots.map({ try Certificate(derEncoded: $0) })
        else { return false }
        var verifier = Verifier(rootCertificates: CertificateStore(anchors)) {
            RFC5280Policy(fixedExpiryValidationTime: Date(timeIntervalSince1970: 1_800_000_000))
        }
        let result = await verifier.validate(leaf: leaf, intermediates: CertificateStore(certificates.dropFirst()))
        guard case .validCertificate = result else { return false }
        return true
    }

    private func isTaken(_ change: ChainChange) async throws -> Bool {
        var draft = AttestationDraft()
        try change.change(&draft)
        let chain = try Scene.fullAttestation(draft).chain
        return await self.isTaken([chain[2].der, chain[1].der], roots: [chain[0].der])
    }

    @Test("What is accepted here, it accepts too", arguments: FullAttestationTests.edges)
    func accepted(change: ChainChange) async throws {
        #expect(try await self.isTaken(change))
    }

    /// What is refused here and not there: the rules of RFC 5280 that it leaves out, and then the standard's own.
    private static let beyond: Set<ExactText> = [
        // RFC 5280 §6.1.4 (k): version 1 cannot say that it may issue.
        "an intermediate of X.509 version 1",
        // RFC 5280 §6.1.4 (n), and RFC 5280 §4.2.1.3 for the leaf.
        "an intermediate whose key may not issue", "a root whose key may not issue", "a leaf that may not sign",
        // RFC 5280 §4.1.2.2
        "a leaf with a serial number of 21 bytes", "an intermediate with a serial number of 21 bytes",
        // RFC 5280 §4.1.1.2
        "a leaf that names another signature algorithm than it has",
        "an intermediate that names another signature algorithm than it has",
        "a root that names another signature algorithm than it has",
        // Which model a leaf is for.
        "a leaf for another model", "a model that is none", "a model that is no string",
        "a model with a letter too many",
    ]

    @Test("What is refused here, it refuses too, but for what is known", arguments: FullAttestationTests.changes)
    func refused(change: ChainChange) async throws {
        #expect(try await self.isTaken(change) == Self.beyond.contains(ExactText(change.name)))
    }

    @Test("Certificates that the standard has as anchors, it does not take, or cannot read")
    func anchors() async throws {
        let (_, chain) = try Scene.fullAttestation()
        // §18, row 19: a listed leaf stands for itself.
        #expect(await !self.isTaken([chain[2].der], roots: [chain[2].der]))
        var draft = AttestationDraft()
        draft.authorityKey = { SigningKey(for: .secp256k1Raw) }
        let other = try Scene.fullAttestation(draft).chain
        #expect(await !self.isTaken([other[2].der, other[1].der], roots: [other[0].der]))
    }

    @Test("It looks for a path: certificates that are left over, or in another order, it does not see")
    func surplus() async throws {
        let (_, chain) = try Scene.fullAttestation()
        let (root, intermediate, leaf) = (chain[0].der, chain[1].der, chain[2].der)
        let other = try TestAuthority(.authority("Other")).der
        #expect(await self.isTaken([leaf, other, intermediate], roots: [root]))
        #expect(await self.isTaken([leaf, intermediate, intermediate], roots: [root]))
    }
}
