import Ceremony
import UAF
import UAFRelyingParty
import _Primitives

/// Judges one response as the server does. The operator gives by hand the values that a server would find in its store.
struct UAFVerification {
    let metadata: MetadataCatalog
    /// The apps that may call; `nil` for the app that the response names.
    let facets: Set<FacetID>?
    let keys: [RegisteredCredential]
    let account: String?
    let now: Timestamp
    var channelBinding = ChannelBindingRule.ignore
    var leniency = Leniency()
    var versions: Set<Version> = [.uaf11]

    func verdict(on response: [UInt8], to request: UAFRequest) throws -> UAFVerdict {
        do throws(UAFRefusal) {
            switch request {
            case .registration(let request): return try self.registration(response, request)
            case .authentication(let request): return try self.authentication(response, request)
            case .deregistration: preconditionFailure("a deregistration has no response")
            }
        } catch { return UAFVerdict(error) }
    }

    private func configuration(_ named: FacetID?) -> RelyingPartyConfiguration {
        var configuration = RelyingPartyConfiguration(
            metadata: self.metadata, versions: self.versions,
            trustedFacets: self.facets ?? Set(named.map { [$0] } ?? []),
            acceptsLessPreferredAttestation: self.leniency.acceptsLessPreferredAttestation,
            acceptsOutdatedAuthenticators: self.leniency.acceptsOutdatedAuthenticators,
            lenientReadings: self.leniency.readings)
        configuration.channelBinding = self.channelBinding
        return configuration
    }

    private func registration(_ bytes: [UInt8], _ request: RegistrationRequest) throws(UAFRefusal) -> UAFVerdict {
        let response = try UnverifiedRegistration(parsing: bytes, reading: self.leniency.readings)
        let verified = try RegistrationVerifier(self.configuration(response.facetID)).verify(
            response, expected: ExpectedRegistration(request), existing: Set(self.keys.map(\.id)), at: self.now)
        return UAFVerdict(verified)
    }

    private func authentication(_ bytes: [UInt8], _ request: AuthenticationRequest) throws(UAFRefusal) -> UAFVerdict {
        let response = try UnverifiedAuthentication(parsing: bytes, reading: self.leniency.readings)
        let verified = try AuthenticationVerifier(self.configuration(response.facetID)).verify(
            response, expected: ExpectedAuthentication(request, account: self.account), credentials: self.keys)
        return UAFVerdict(verified, keys: self.keys)
    }
}

/// The result of `countersign uaf verify`: members for scripts, and lines for people, made of the same members.
struct UAFVerdict {
    /// The exit code of the command; `nil` for an accepted response.
    let status: CommandFailure.Status?
    let json: JSONObject

    var isAccepted: Bool { self.status == nil }
    /// `true` if the command has judged nothing.
    var isNone: Bool { self.status == .noVerdict || self.status == .usage }

    /// Creates a result without a verdict: the command could not judge its input. A misuse keeps the exit code of a
    /// misuse.
    init(without failure: CommandFailure) {
        self.status = failure.status == .usage ? .usage : .noVerdict
        self.json = ["verdict": .string("none"), "reason": .string(failure.problem)]
    }

    init(_ refusal: UAFRefusal) {
        self.status = .failed
        var json: JSONObject = [
            "verdict": .string("refused"), "status": .integer(Int64(refusal.statusCode.rawValue)),
            "step": .string(refusal.step.rawValue), "reason": .string(refusal.reason),
        ]
        json["aaid"] = refusal.credential.map { .string($0.aaid.text) }
        json["keyID"] = refusal.credential.map { .string($0.keyID.base64URL) }
        self.json = json
    }

    init(_ verified: VerifiedRegistration) {
        self.status = nil
        self.json = Self.accepted(
            verified.facetID, verified.alternative,
            verified.keys.map { key in
                var object = RegisteredCredential(
                    id: key.id, publicKey: key.publicKey, publicKeyFormat: key.publicKeyFormat,
                    signatureAlgorithm: key.signatureAlgorithm, signCounter: key.signCounter,
                    account: verified.username, deviceRegistration: "", attestation: key.attestation
                ).json
                object["registrationCounter"] = .integer(Int64(key.registrationCounter))
                object["authenticatorVersion"] = .integer(Int64(key.authenticatorVersion))
                object["attestationType"] = .integer(Int64(key.attestationType.rawValue))
                return object
            })
    }

    /// Creates the result of an authentication, with every key of the files. Keys that signed have their new counters.
    init(_ verified: VerifiedAuthentication, keys: [RegisteredCredential]) {
        self.status = nil
        var json = Self.accepted(
            verified.facetID, verified.alternative,
            keys.map { key in
                guard let signature = verified.signatures.first(where: { $0.id == key.id }) else { return key.json }
                var key = key
                key.signCounter = signature.newSignCounter
                var object = key.json
                object["authenticatorVersion"] = .integer(Int64(signature.authenticatorVersion))
                object["mode"] = .integer(Int64(signature.mode.rawValue))
                return object
            })
        json["confirmedContentHash"] = verified.confirmedContentHash.map { .string(Base64URL.encode($0)) }
        self.json = json
    }

    private static func accepted(_ facetID: FacetID, _ alternative: Int, _ keys: [JSONObject]) -> JSONObject {
        [
            "verdict": .string("accepted"), "status": .integer(Int64(UAFStatusCode.ok.rawValue)),
            "facetID": .string(facetID.text), "alternative": .integer(Int64(alternative)),
            "keys": .array(keys.map { .object($0) }),
        ]
    }

    /// The result as text: a line for each member, safe for a terminal.
    var text: String {
        func line(_ name: String, _ value: JSON) -> String {
            if case .string(let text) = value { "\(name): \(DisplayText.line(text))" } else { "\(name): \(value.text)" }
        }
        var lines: [String] = []
        for (name, value) in self.json.members {
            guard name == "keys", case .array(let keys) = value else {
                lines.append(line(name, value))
                continue
            }
            for case .object(let key) in keys {
                lines.append("key:")
                lines += key.members.map { "  " + line($0.name, $0.value) }
            }
        }
        return lines.joined(separator: "\n")
    }
}
