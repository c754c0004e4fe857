import Foundation
import Testing
import UAF
import UAFRelyingParty
import _Primitives

/// A message of another implementation with everything that a server would know of its sender.
private struct Verdict: CustomTestStringConvertible, Sendable {
    let id: String
    /// How often the stored key has signed; `nil` for a registration.
    let counter: UInt32?
    /// The refusal; `nil`: accepted.
    let refusal: Refused?

    static func accepted(_ id: String, after counter: UInt32? = nil) -> Verdict {
        Verdict(id: id, counter: counter, refusal: nil)
    }

    static func refused(
        _ id: String, after counter: UInt32? = nil, _ code: UAFStatusCode, _ step: VerificationStep
    ) -> Verdict {
        Verdict(id: id, counter: counter, refusal: Refused(id, code, step) { _ in })
    }

    var testDescription: String { "\(self.id): \(self.refusal?.code.description ?? "accepted")" }
}

@Suite("FIDO UAF Protocol 1.1 §20: a strict server's verdict on whole messages of other implementations")
struct VectorVerdictTests {
    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().appendingPathComponent("../../../Tests/UAFTests/Vectors").standardized

    private static let verdicts: [Verdict] = [
        // The standard's example, and the same once more.
        .accepted("spec11-auth-ABCD-ABCD", after: 1),
        .refused("spec11-auth-ABCD-ABCD", after: 2, .unacceptableContent, .signCounter),
        // Full attestation, which is not there yet.
        .refused("spec11-reg-ABCD-ABCD", .unacceptableAttestation, .attestation),
        .refused("lightfactor-reg-FFFF-0001", .unacceptableAttestation, .attestation),
        .refused("ebay-full-reg-138A-4202-mismatched-fc", .unacceptableContent, .finalChallengeHash),
        // The letters of standard base64.
        .refused("recred-reg-EBA0-0001", .badRequest, .message),
        // Nobody knows the keys of these.
        .refused("lightfactor-auth-FFFF-0001", after: 0, .unknownKeyID, .credential),
        .refused("lightfactor-auth-tx-FFFF-5201", after: 0, .unknownKeyID, .credential),
        .refused("fidoalliance-doc-auth-FFFF-FC03", after: 0, .unknownKeyID, .credential),
        // Padding and line breaks are refused by the strict reader before anything else is looked at.
        .refused("ebay-full-auth-DAB8-8011", after: 0, .unacceptableContent, .finalChallengeParams),
        .refused("unipi-reg-EBA0-0001", .badRequest, .message),
        .refused("unipi-auth-EBA0-0001", after: 0, .badRequest, .message),
        .refused("recred-auth-EBA0-0001", after: 65536, .badRequest, .message),
    ]

    private static func vector(_ id: String) throws -> JSONObject {
        let data = try Data(contentsOf: self.folder.appendingPathComponent("\(id).json"))
        // The notes of a vector have nulls, which this product's reader refuses.
        let text = String(decoding: data, as: UTF8.self).replacing(": null", with: ": \"none\"")
        guard case .object(let object) = try JSON(parsing: text) else { throw UAFError(.wrongType) }
        return object
    }

    /// The scene in which a message is as right as it can be: its own AppID, facet, challenge and model.
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
        let vector = try self.vector(verdict.id)
        let (scene, message) = try self.scene(vector)
        guard let counter = verdict.counter else {
            _ = try RegistrationVerifier(scene.configuration).verify(
                try UnverifiedRegistration(parsing: message),
                expected: ExpectedRegistration(
                    challenge: scene.challenge, appID: scene.appID, username: "alice", policy: scene.policy,
                    serverData: scene.serverData), existing: [], at: scene.now)
            return
        }
        let response = try UnverifiedAuthentication(parsing: message)
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
                challenge: scene.challenge, appID: scene.appID, policy: scene.policy, serverData: scene.serverData,
                account: Names.account), credentials: credentials)
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

    @Test("Every whole message among the vectors has a verdict")
    func allMessages() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        let whole = try files.filter { $0.hasSuffix(".json") && $0 != "index.json" && !$0.hasSuffix("-request.json") }
            .map { String($0.dropLast(".json".count)) }
            .filter { try Self.vector($0)["message"] != nil }
        #expect(Set(whole) == Set(Self.verdicts.map(\.id)))
    }
}
