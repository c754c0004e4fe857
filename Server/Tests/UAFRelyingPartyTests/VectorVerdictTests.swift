import Foundation
import SwiftASN1
import Testing
import UAF
import UAFRelyingParty
import _Primitives

/// What a server makes of another implementation's message, with everything that it would know of the sender.
private struct Verdict: CustomTestStringConvertible, Sendable {
    let id: String
    /// How often the stored key has signed; `nil` for a registration.
    let counter: UInt32?
    /// The readings that the server makes beside the strict ones.
    let readings: @Sendable (inout LenientReadings) -> Void
    /// The refusal; `nil`: accepted.
    let refusal: Refused?

    static func accepted(
        _ id: String, after counter: UInt32? = nil,
        reading: @escaping @Sendable (inout LenientReadings) -> Void = { _ in }
    ) -> Verdict {
        Verdict(id: id, counter: counter, readings: reading, refusal: nil)
    }

    static func refused(
        _ id: String, after counter: UInt32? = nil, _ code: UAFStatusCode, _ step: VerificationStep,
        reading: @escaping @Sendable (inout LenientReadings) -> Void = { _ in }
    ) -> Verdict {
        Verdict(id: id, counter: counter, readings: reading, refusal: Refused(id, code, step) { _ in })
    }

    var testDescription: String { "\(self.id): \(self.refusal?.code.description ?? "accepted")" }
}

private let vendorTags: Set<TLVTag> = [TLVTag(rawValue: 0x3FFC), TLVTag(rawValue: 0x3FFD)]

private enum VectorFiles {
    static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().appendingPathComponent("../../../Tests/UAFTests/Vectors").standardized

    /// All responses and assertions.
    static func ids() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: self.folder.path)
            .filter { $0.hasSuffix(".json") && $0 != "index.json" && !$0.hasSuffix("-request.json") }
            .map { String($0.dropLast(".json".count)) }
    }

    static func read(_ id: String) throws -> JSONObject {
        let data = try Data(contentsOf: self.folder.appendingPathComponent("\(id).json"))
        // The notes of a vector have nulls, which this product's reader refuses.
        let text = String(decoding: data, as: UTF8.self).replacing(": null", with: ": \"none\"")
        guard case .object(let object) = try JSON(parsing: text) else { throw UAFError(.wrongType) }
        return object
    }

    /// The assertion's bytes, from base64 of whatever kind.
    static func assertion(_ vector: JSONObject) throws -> [UInt8] {
        let text = try vector.requiredString("assertion").filter { !"=\n\r ".contains($0) }
            .replacing("+", with: "-").replacing("/", with: "_")
        return try #require(Base64URL.decode(text))
    }
}

@Suite("uaf-sections §20: the verdict on whole messages of other implementations")
struct VectorVerdictTests {
    private static let verdicts: [Verdict] = [
        // The standard's example, and the same once more.
        .accepted("spec11-reg-ABCD-ABCD"),
        .accepted("spec11-auth-ABCD-ABCD", after: 1),
        .refused("spec11-auth-ABCD-ABCD", after: 2, .unacceptableContent, .signCounter),
        .accepted("lightfactor-reg-FFFF-0001"),
        .refused("ebay-full-reg-138A-4202-mismatched-fc", .unacceptableContent, .finalChallengeHash),
        // Nobody knows the keys of these.
        .refused("lightfactor-auth-FFFF-0001", after: 0, .unknownKeyID, .credential),
        .refused("lightfactor-auth-tx-FFFF-5201", after: 0, .unknownKeyID, .credential),
        .refused("fidoalliance-doc-auth-FFFF-FC03", after: 0, .unknownKeyID, .credential),

        // Padding: taken by row 2 alone.
        .refused("ebay-full-auth-DAB8-8011", after: 0, .unacceptableContent, .finalChallengeParams),
        .accepted("ebay-full-auth-DAB8-8011", after: 0) { $0.row2Base64 = true },

        // Line breaks; behind them, private critical tags in what is signed.
        .refused("unipi-reg-EBA0-0001", .unacceptableContent, .assertion),
        .refused("unipi-reg-EBA0-0001", .unacceptableContent, .assertion) { $0.row2Base64 = true },
        .refused("unipi-reg-EBA0-0001", .unacceptableContent, .assertion) { $0.row21VendorTags = vendorTags },
        .accepted("unipi-reg-EBA0-0001") {
            $0.row2Base64 = true
            $0.row21VendorTags = vendorTags
        },
        .refused("unipi-auth-EBA0-0001", after: 0, .unacceptableContent, .assertion),
        .accepted("unipi-auth-EBA0-0001", after: 0) { $0.row2Base64 = true },

        // Line breaks and standard letters; behind them, an empty facet and no channel binding, which the dictionary does
        // not allow. So a strict server refuses what §20 accepts; each of the three readings is needed.
        .refused("recred-reg-EBA0-0001", .unacceptableContent, .assertion),
        .refused("recred-reg-EBA0-0001", .unacceptableContent, .finalChallengeParams) { $0.row2Base64 = true },
        .refused("recred-reg-EBA0-0001", .unacceptableContent, .finalChallengeParams) {
            $0.row2Base64 = true
            $0.section7EmptyFacetID = true
        },
        .accepted("recred-reg-EBA0-0001") {
            $0.row2Base64 = true
            $0.section2NoChannelBinding = true
            $0.section7EmptyFacetID = true
        },
        .refused("recred-auth-EBA0-0001", after: 65536, .unacceptableContent, .assertion),
        .refused("recred-auth-EBA0-0001", after: 65536, .unacceptableContent, .signCounter) {
            $0.row2Base64 = true
            $0.section2NoChannelBinding = true
            $0.section7EmptyFacetID = true
        },
    ]

    /// The scene in which a message is as right as it can be: its own AppID, facet, challenge and model, which lists the
    /// leaf of a full attestation, at a time at which that is valid.
    private static func scene(_ vector: JSONObject) throws -> (scene: Scene, message: [UInt8]) {
        let message = try #require(vector["message"])
        guard case .array(let dictionaries) = message, case .object(let dictionary)? = dictionaries.first else {
            throw UAFError(.wrongType)
        }
        let header = try dictionary.requiredObject("header")
        let params = try vector.requiredObject("fcParamsDecoded")
        let version = try header.requiredObject("upv")
        var scene = try Scene.authentication()
        let decoded = try vector.requiredObject("decoded")
        var statement = try #require(scene.configuration.metadata[Names.pin])
        statement.aaid = try AAID(try decoded.requiredString("aaid"))
        statement.authenticatorVersion = 0
        statement.authenticationAlgorithm = SignatureAlgorithm(rawValue: try decoded.requiredInteger("sigAlg"))
        if try decoded.string("attestation") == "BASIC_FULL" {
            var reading = LenientReadings()
            reading.row21VendorTags = vendorTags
            let assertion = try RegistrationAssertion(parsing: VectorFiles.assertion(vector), reading: reading)
            statement.attestationTypes = [.basicFull]
            statement.attestationRootCertificates = [try #require(assertion.attestation.certificates.first)]
            // As 2017-05-24 12:38:41+00:00.
            let end = try decoded.requiredString("cert_not_after").prefix(10)
            scene.now = Timestamp(
                seconds: Int64(try Date("\(end)T00:00:00Z", strategy: .iso8601).timeIntervalSince1970) - 86_400)
        }
        scene.configuration = RelyingPartyConfiguration(
            metadata: MetadataCatalog([statement]),
            versions: [
                Version(
                    major: try version.requiredInteger("major"), minor: try version.requiredInteger("minor"))
            ],
            trustedFacets: (try? FacetID(try params.requiredString("facetID"))).map { [$0] } ?? [])
        scene.appID = try params.requiredString("appID")
        scene.challenge = try Challenge(try params.requiredString("challenge"))
        scene.serverData = try header.string("serverData")
        scene.policy = Policy(accepted: [[MatchCriteria(aaid: [statement.aaid])]])
        return (scene, message.serialized)
    }

    private static func judge(_ verdict: Verdict) throws {
        let vector = try VectorFiles.read(verdict.id)
        var (scene, message) = try self.scene(vector)
        verdict.readings(&scene.configuration.lenientReadings)
        let reading = scene.configuration.lenientReadings
        guard let counter = verdict.counter else {
            _ = try RegistrationVerifier(scene.configuration).verify(
                try UnverifiedRegistration(parsing: message, reading: reading),
                expected: ExpectedRegistration(
                    challenge: scene.challenge, appID: scene.appID, username: "alice", policy: scene.policy,
                    serverData: scene.serverData), existing: [], at: scene.now)
            return
        }
        let response = try UnverifiedAuthentication(parsing: message, reading: reading)
        let decoded = try vector.requiredObject("decoded")
        var credentials: [RegisteredCredential] = []
        if let key = try vector.string("publicKey") {
            credentials = [
                RegisteredCredential(
                    id: try #require(response.credentials.first),
                    publicKey: try #require(Base64URL.decode(key)),
                    publicKeyFormat: PublicKeyFormat(rawValue: try vector.requiredInteger("publicKeyAlgAndEncoding")),
                    signatureAlgorithm: SignatureAlgorithm(rawValue: try decoded.requiredInteger("sigAlg")),
                    signCounter: counter, account: Names.account, deviceRegistration: Names.device)
            ]
        }
        let verified = try AuthenticationVerifier(scene.configuration).verify(
            response,
            expected: ExpectedAuthentication(
                challenge: scene.challenge, appID: scene.appID, policy: scene.policy, transaction: scene.transaction,
                serverData: scene.serverData, account: Names.account), credentials: credentials)
        #expect(try verified.signatures[0].newSignCounter == decoded.requiredInteger("signCounter"))
    }

    @Test("The verdict, and for a refusal its step", arguments: verdicts)
    private func verdict(verdict: Verdict) throws {
        if let refusal = verdict.refusal {
            refusal.expect { try Self.judge(verdict) }
        } else {
            try Self.judge(verdict)
        }
    }

    @Test("Every whole message among the vectors has a strict verdict")
    func allMessages() throws {
        let whole = try VectorFiles.ids().filter { try VectorFiles.read($0)["message"] != nil }
        let strict = Self.verdicts.filter {
            var readings = LenientReadings()
            $0.readings(&readings)
            return readings == LenientReadings()
        }
        #expect(Set(whole) == Set(strict.map(\.id)))
    }
}

/// What becomes of an assertion whose message is not known.
private enum SignatureVerdict: Sendable {
    case verifies
    /// Neither the assertion nor the vector has the key.
    case noKey
    /// The reader refuses it.
    case unreadable(UAFError.Code)
}

@Suite("uaf-sections §20: signatures of other implementations")
struct VectorSignatureTests {
    private static let verdicts: [String: SignatureVerdict] = [
        "spec11-reg-ABCD-ABCD": .verifies, "spec11-auth-ABCD-ABCD": .verifies, "lightfactor-reg-FFFF-0001": .verifies,
        "lightfactor-auth-FFFF-0001": .noKey, "lightfactor-auth-tx-FFFF-5201": .noKey,
        "fidoalliance-doc-auth-FFFF-FC03": .noKey, "unipi-reg-EBA0-0001": .verifies, "unipi-auth-EBA0-0001": .verifies,
        "recred-reg-EBA0-0001": .verifies, "recred-auth-EBA0-0001": .verifies, "ebay-full-auth-DAB8-8011": .verifies,
        "ebay-full-reg-138A-4202-mismatched-fc": .verifies,
        "ebay-reg-53EC-3801-s": .verifies, "ebay-reg-53EC-3801-s2": .verifies,
        "ebay-reg-DAB8-8011-d": .verifies, "ebay-reg-138A-4202": .verifies, "ebay-auth-138A-4202-certtool": .verifies,
        "ebay-reg-0012-0001-raon-rsa": .verifies, "ebay-auth-0012-0001-raon-rsa": .noKey,
        // A tag that has no place in key registration data; counters of eight bytes.
        "ebay-reg-EBA0-0001-client": .unreadable(.unknownCriticalTag),
        "ebay-auth-EBA0-0001-client": .unreadable(.invalidLength),
        "tizen-reg-0001-8001": .verifies, "tizen-auth-0001-8001": .verifies,
    ]

    /// The key of a certificate, whatever its signature is.
    private static func subjectPublicKeyInfo(_ certificate: [UInt8]) throws -> [UInt8] {
        try DER.sequence(try DER.parse(certificate), identifier: .sequence) { parts in
            guard let body = parts.next() else { throw UAFError(.invalidValue) }
            while parts.next() != nil {}
            return try DER.sequence(body, identifier: .sequence) { fields in
                var nodes: [ASN1Node] = []
                while let node = fields.next() { nodes.append(node) }
                // A version stands before the number, except in version 1.
                return Array(nodes[nodes[0].identifier == .integer ? 5 : 6].encodedBytes)
            }
        }
    }

    private static func judge(_ id: String) throws -> SignatureVerdict {
        let vector = try VectorFiles.read(id)
        let bytes = try VectorFiles.assertion(vector)
        var reading = LenientReadings()
        reading.row21VendorTags = vendorTags
        let (signed, signature, algorithm): ([UInt8], [UInt8], SignatureAlgorithm)
        var key: (bytes: [UInt8], format: PublicKeyFormat)?
        do throws(UAFError) {
            if vector["kind"] == .string("registration") {
                let assertion = try RegistrationAssertion(parsing: bytes, reading: reading)
                let data = assertion.keyRegistrationData
                (signed, signature, algorithm) = (
                    data.signedBytes, assertion.attestation.signature, data.signatureAlgorithm
                )
                key = (data.publicKey, data.publicKeyFormat)
                if let leaf = assertion.attestation.certificates.first,
                    let info = try? self.subjectPublicKeyInfo(leaf)
                {
                    key = (info, algorithm.keyKind == .rsa ? .rsa2048DER : .eccX962DER)
                }
            } else {
                let assertion = try AuthenticationAssertion(parsing: bytes, reading: reading)
                (signed, signature, algorithm) = (
                    assertion.signedData.signedBytes, assertion.signature, assertion.signedData.signatureAlgorithm
                )
            }
        } catch { return .unreadable(error.code) }
        if let text = try vector.string("publicKey"), key == nil {
            let format: UInt16 = try vector.requiredInteger("publicKeyAlgAndEncoding")
            key = (try #require(Base64URL.decode(text)), PublicKeyFormat(rawValue: format))
        }
        guard let key else { return .noKey }
        let verification = try SignatureVerification(
            publicKey: key.bytes, format: key.format, algorithm: algorithm)
        #expect(verification.isValid(signature, over: signed))
        // The new key of a registration is a good one too.
        if vector["kind"] == .string("registration") {
            let data = try RegistrationAssertion(parsing: bytes, reading: reading).keyRegistrationData
            _ = try SignatureVerification(
                publicKey: data.publicKey, format: data.publicKeyFormat, algorithm: algorithm)
        }
        return .verifies
    }

    @Test("Every signature whose key is known verifies", arguments: verdicts.keys.sorted())
    func signature(id: String) throws {
        let expected = try #require(Self.verdicts[id])
        #expect(try "\(Self.judge(id))" == "\(expected)")
    }

    @Test("Every assertion among the vectors has a verdict")
    func allAssertions() throws {
        #expect(try Set(VectorFiles.ids()) == Set(Self.verdicts.keys))
    }
}
