import Crypto
import Foundation
import UAF
import UAFRelyingParty
import _Primitives

/// Measures the time for judging the factors of a personalised identity, for right factors and for each kind of wrong
/// factors. The measure is the median of 500 each, in turns, of this thread's own processor time. Beside it stands the
/// same measure of a verifier that stops at the first wrong factor. The same bound has to distinguish this verifier
/// from ours.
struct FailureTimes {
    private static let rounds = 500
    private static let facet = "linux:program:countersign-phone"
    private static let appID = "https://uaf.example/uaf/1.1/facets"

    /// A factor with its own key, and with another key that signs if the factor is wrong.
    private struct Factor {
        let aaid: AAID
        let keyID: KeyID
        let key = P256.Signing.PrivateKey()
        let other = P256.Signing.PrivateKey()
        let counter: UInt32

        init(_ aaid: AAID, counter: UInt32) throws {
            self.aaid = aaid
            self.keyID = try KeyID(RandomSource.system.bytes(32))
            self.counter = counter
        }

        func credential() -> RegisteredCredential {
            RegisteredCredential(
                id: CredentialID(aaid: self.aaid, keyID: self.keyID),
                publicKey: Array(self.key.publicKey.x963Representation), publicKeyFormat: .eccX962Raw,
                signatureAlgorithm: .p256Raw, signCounter: 0, account: "account", deviceRegistration: "device")
        }

        func assertion(_ parameters: String, isRight: Bool) throws -> EncodedAssertion {
            let data = try SignedData(
                aaid: self.aaid, authenticatorVersion: 1, mode: .userVerified, signatureAlgorithm: .p256Raw,
                nonce: RandomSource.system.bytes(32),
                finalChallengeHash: FinalChallengeParams.hash(ofEncoded: parameters), keyID: self.keyID,
                signCounter: self.counter)
            let signature = try (isRight ? self.key : self.other).signature(for: data.signedBytes)
            return EncodedAssertion(
                bytes: try AuthenticationAssertion(
                    signedData: data, signature: Array(signature.rawRepresentation)
                ).serialized())
        }
    }

    /// A message, and `true` if the verifier must accept the message.
    private typealias Case = (name: String, message: [UInt8], isRight: Bool)

    private let cases: [Case]
    private let expected: ExpectedFactors
    private let credentials: [RegisteredCredential]
    private let verifier: FactorVerifier
    private let bare: () -> Bool

    init() throws {
        let device = try Factor(AuthenticatorModel(factor: .devicePossession, keyStore: .file).aaid, counter: 1)
        let pin = try Factor(ServerPinModel.aaid, counter: 0)
        let finger = try Factor(AuthenticatorModel(factor: .fingerprint, keyStore: .file).aaid, counter: 1)
        let challenge = Challenge(random: .system)
        let parameters = FinalChallengeParams(
            appID: Self.appID, challenge: challenge, facetID: try FacetID(Self.facet)
        ).encoded
        func message(_ factors: [(Factor, isRight: Bool)]) throws -> [UInt8] {
            AuthenticationResponse(
                header: OperationHeader(operation: .authentication, appID: Self.appID), fcParams: parameters,
                assertions: try factors.map { try $0.assertion(parameters, isRight: $1) }
            ).serialized
        }
        self.cases = [
            ("right ones", try message([(device, true), (pin, true)]), true),
            ("a wrong PIN", try message([(device, true), (pin, false)]), false),
            ("another device", try message([(device, false), (pin, true)]), false),
            ("both", try message([(device, false), (pin, false)]), false),
            ("another finger", try message([(device, true), (finger, false)]), false),
            ("PIN and finger without the device", try message([(pin, true), (finger, true)]), false),
        ]
        self.expected = ExpectedFactors(
            challenge: challenge, appID: Self.appID,
            matrix: try AuthenticatorMatrix([[.pin, .device], [.biometric, .device]]), account: "account",
            deviceRegistration: "device")
        self.credentials = [device.credential(), pin.credential(), finger.credential()]
        self.verifier = FactorVerifier(
            RelyingPartyConfiguration(metadata: try .builtIn(), trustedFacets: [try FacetID(Self.facet)]))
        let (key, signed) = (device.key.publicKey, RandomSource.system.bytes(180))
        let signature = try device.key.signature(for: signed)
        self.bare = { key.isValidSignature(signature, for: signed) }
    }

    /// Returns the rows of the table. Throws if a bound does not hold, or would hold for the verifier that stops early.
    func report() throws -> [String] {
        let ours = self.medians { self.judge($0) }
        let stopping = self.medians { self.stop(at: $0) }
        let bound = Self.microseconds(of: self.bare) / 4
        func spread(_ medians: [Double]) -> Double { (medians.max() ?? 0) - (medians.min() ?? 0) }
        let names = self.cases.map(\.name).joined(separator: ", ")
        let rows = [
            "Factors (\(names)), the median of \(Self.rounds) each: "
                + String(format: "between the quickest and the slowest %.1f µs", spread(ours))
                + String(format: ", at most %.1f; ", bound)
                + String(format: "a verifier that ends at the first wrong one: %.1f µs", spread(stopping))
        ]
        guard spread(ours) < bound else { throw UAFError(.missingMember, "what is wrong can be told by the time") }
        guard spread(stopping) > bound else { throw UAFError(.missingMember, "the bound would hold for any verifier") }
        return rows
    }

    /// Returns the median time for each case. In each round, every case has its turn.
    private func medians(_ judge: ([UInt8]) -> Bool) -> [Double] {
        var times = self.cases.map { _ in [Double]() }
        for _ in 0..<Self.rounds {
            for (index, one) in self.cases.enumerated() {
                let start = Self.now
                precondition(judge(one.message) == one.isRight, "factors are judged wrongly")
                times[index].append(Self.now - start)
            }
        }
        return times.map { $0.sorted()[Self.rounds / 2] }
    }

    private static func microseconds(of body: () -> Bool) -> Double {
        let times = (0..<Self.rounds).map { _ in
            let start = Self.now
            precondition(body(), "a signature that is right")
            return Self.now - start
        }
        return times.sorted()[Self.rounds / 2]
    }

    /// This thread's processor time, in microseconds. The machine's other work is not included.
    private static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1000
    }

    private func judge(_ message: [UInt8]) -> Bool {
        guard let response = try? UnverifiedAuthentication(parsing: message) else { return false }
        if case .accepted = self.verifier.judge(response, expected: self.expected, keys: self.credentials) {
            return true
        }
        return false
    }

    /// Judges as a verifier must not: stops at the first wrong factor.
    private func stop(at message: [UInt8]) -> Bool {
        guard let response = try? AuthenticationResponse(parsing: message) else { return false }
        var isDeviceThere = false
        for encoded in response.assertions {
            guard let assertion = try? AuthenticationAssertion(parsing: encoded.bytes),
                let own = self.credentials.first(where: { $0.id.keyID == assertion.signedData.keyID }),
                let key = try? P256.Signing.PublicKey(x963Representation: own.publicKey),
                let signature = try? P256.Signing.ECDSASignature(rawRepresentation: assertion.signature),
                key.isValidSignature(signature, for: assertion.signedData.signedBytes)
            else { return false }
            if own.id == self.credentials.first?.id { isDeviceThere = true }
        }
        return isDeviceThere
    }
}
