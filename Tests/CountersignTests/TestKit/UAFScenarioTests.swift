import CountersignTestKit
import Crypto
import Foundation
import Testing
import UAF
import _Primitives

@Suite("uaf-sections §21: scenarios of the test kit and the committed vectors")
struct UAFScenarioTests {
    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().appendingPathComponent("../../Vectors/own").standardized

    @Test("Every scenario has a name of its own")
    func names() {
        #expect(Set(UAFScenario.all.map(\.id)).count == UAFScenario.all.count)
    }

    @Test("Every damage is done to the kinds of keys that it can happen to, and to each operation")
    func coverage() {
        let damaged = UAFScenario.all.filter { $0.damage != nil }
        for damage in Damage.allCases {
            let scenarios = damaged.filter { $0.damage == damage }
            #expect(Set(scenarios.map(\.operation)) == damage.operations, "\(damage)")
            for algorithm in [SignatureAlgorithm.p256Raw, .rsaPSSRaw, .rsaPKCS1DER] {
                #expect(scenarios.contains { $0.algorithm == algorithm } == damage.applies(to: algorithm), "\(damage)")
            }
            // What comes out otherwise for each algorithm is there for every one.
            let algorithms = Set(scenarios.map(\.algorithm))
            let all = Set(UAFScenario.keys.map(\.algorithm).filter(damage.applies))
            let others: Set<Damage> = [
                .brokenSignature, .otherEncoding, .otherKeyFormat, .brokenAttestation, .longForm,
            ]
            #expect(algorithms == all || !others.contains(damage), "\(damage)")
            #expect(damage.status != .ok && VerificationStepName.all.contains(damage.step), "\(damage)")
        }
    }

    @Test("Without damage every algorithm is there with every way to write its keys, each attestation and each mode")
    func undamaged() {
        let whole = UAFScenario.all.filter { $0.damage == nil && $0.extensions.isEmpty && !$0.hasCompanion }
        #expect(whole.count == (2 * 2 + 4 * 3) * (2 + 2))
    }

    @Test("A seed gives the same vector again, signatures of random algorithms apart")
    func repeatable() throws {
        for scenario in UAFScenario.all where scenario.damage == nil {
            let one = try scenario.vector(random: .repeatable("seed"))
            let other = try scenario.vector(random: .repeatable("seed"))
            #expect(one.request == other.request && one.registered == other.registered && one.status == other.status)
            // The chain of a full attestation is signed with ECDSA.
            let isRandom =
                ![.rsaPKCS1Raw, .rsaPKCS1DER].contains(scenario.algorithm) || scenario.attestation == .basicFull
            #expect(isRandom || one.response == other.response, "\(scenario.id)")
            let third = try scenario.vector(random: .repeatable("another seed"))
            #expect(third.request != one.request, "\(scenario.id)")
        }
    }

    @Test("The committed vectors are those of the scenarios, in files that read as they were written")
    func committed() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        #expect(Set(files) == Set(UAFScenario.all.map { "\($0.id).json" }))
        for scenario in UAFScenario.all {
            let made = try scenario.vector(random: .repeatable("countersign/\(scenario.id)"))
            let bytes = try Data(contentsOf: Self.folder.appendingPathComponent("\(scenario.id).json"))
            let read = try TestVector(parsing: bytes)
            #expect(read.serialized == Array(bytes), "\(scenario.id)")
            #expect(read.id == made.id && read.title == made.title && read.damage == made.damage)
            #expect(read.request == made.request && read.registered == made.registered, "\(scenario.id)")
            #expect(read.status == made.status && read.step == made.step, "\(scenario.id)")
        }
    }

    @Test(
        "What is signed is the slice of the received bytes, in either order of the items",
        arguments: UAFScenario.ItemOrder.allCases)
    func slice(order: UAFScenario.ItemOrder) throws {
        let registration = UAFScenario.registration(.p256Raw, .x962Raw, order: order)
        let made = try RegistrationResponse(
            parsing: Array(try registration.vector(random: .repeatable("slice")).response.utf8))
        let bytes = made.assertions[0].bytes
        let read = try RegistrationAssertion(parsing: bytes)
        let signed = read.keyRegistrationData.signedBytes
        #expect(Array(bytes[4..<(4 + signed.count)]) == signed)
        // The last item in one order is the first in the other.
        let first: TLVTag = order == .listed ? .aaid : .publicKey
        #expect(signed[4...].starts(with: [UInt8(first.rawValue & 0xFF), UInt8(first.rawValue >> 8)]))
        let key = try P256Encoding.publicKey(read.keyRegistrationData.publicKey, format: .eccX962Raw)
        let signature = try P256Encoding.signature(read.attestation.signature, algorithm: .p256Raw)
        #expect(key.isValidSignature(signature, for: signed))
    }
}

/// The names of the server's steps, which the test kit cannot see.
private enum VerificationStepName {
    static let all: Set<String> = [
        "message", "version", "messageExtensions", "serverData", "finalChallengeParams", "appID", "facetID",
        "channelBinding", "challenge", "assertion", "metadata", "revocation", "assertionScheme", "credential",
        "account",
        "policy", "finalChallengeHash", "authenticatorVersion", "authenticationMode", "transaction",
        "signatureAlgorithm", "publicKey", "attestation", "assertionExtensions", "signature", "signCounter",
    ]
}
