public import UAF
import _Primitives

/// A registration response that was read but not judged.
///
/// Read the response, find the operation by ``serverData`` or ``challenge``, then give both to
/// ``RegistrationVerifier``.
public struct UnverifiedRegistration: Hashable, Sendable {
    let envelope: ResponseEnvelope
    let assertions: [RegistrationAssertion]

    /// Reads the message and all its assertions. Throws ``UAFRefusal``: 1400 if the bytes are no such message, 1498 for
    /// malformed parameters or assertions. `reading` is the setting of the ``RelyingPartyConfiguration``.
    public init(parsing bytes: some Collection<UInt8>, reading: LenientReadings = LenientReadings())
        throws(UAFRefusal)
    {
        let response: RegistrationResponse
        do { response = try RegistrationResponse(parsing: bytes, reading: reading) } catch {
            throw UAFRefusal(unreadable: error)
        }
        self.envelope = try ResponseEnvelope(
            header: response.header, fcParams: response.fcParams, assertions: response.assertions, reading)
        self.assertions = try self.envelope.assertions.map { (assertion) throws(UAFRefusal) in
            do throws(UAFError) { return try RegistrationAssertion(parsing: assertion.bytes, reading: reading) } catch {
                throw UAFRefusal(.unacceptableContent, .assertion, error.description)
            }
        }
        self.credentials = self.assertions.map {
            CredentialID(aaid: $0.keyRegistrationData.aaid, keyID: $0.keyRegistrationData.keyID)
        }
    }

    /// The server's data as the client returned it.
    public var serverData: String? { self.envelope.header.serverData }
    /// The challenge that the client claims to answer; `nil` if the client failed before it had a challenge.
    public var challenge: Challenge? { self.envelope.finalChallenge?.challenge }
    /// The caller that the client claims to act for, a web origin or an app; `nil` if the client failed before it knew
    /// the caller.
    public var facetID: FacetID? { self.envelope.finalChallenge?.facetID }
    /// `true` if the client reports a failure: the response has no assertion (§18, row 15).
    public var isClientFailure: Bool { self.assertions.isEmpty }
    /// The names of the new keys, by which the caller looks for existing keys.
    public let credentials: [CredentialID]
}

/// An authentication response that was read but not judged.
///
/// Read the response, find the operation by ``serverData`` or ``challenge`` and the keys by ``credentials``, then give
/// all of these to ``AuthenticationVerifier``.
public struct UnverifiedAuthentication: Hashable, Sendable {
    let envelope: ResponseEnvelope
    let assertions: [AuthenticationAssertion]

    /// Reads the message and all its assertions. Throws ``UAFRefusal``: 1400 if the bytes are no such message, 1498 for
    /// malformed parameters or assertions. `reading` is the setting of the ``RelyingPartyConfiguration``.
    public init(parsing bytes: some Collection<UInt8>, reading: LenientReadings = LenientReadings())
        throws(UAFRefusal)
    {
        let response: AuthenticationResponse
        do { response = try AuthenticationResponse(parsing: bytes, reading: reading) } catch {
            throw UAFRefusal(unreadable: error)
        }
        self.envelope = try ResponseEnvelope(
            header: response.header, fcParams: response.fcParams, assertions: response.assertions, reading)
        self.assertions = try self.envelope.assertions.map { (assertion) throws(UAFRefusal) in
            do throws(UAFError) { return try AuthenticationAssertion(parsing: assertion.bytes, reading: reading) } catch
            {
                throw UAFRefusal(.unacceptableContent, .assertion, error.description)
            }
        }
        self.credentials = self.assertions.map {
            CredentialID(aaid: $0.signedData.aaid, keyID: $0.signedData.keyID)
        }
    }

    /// The assertions as they were sent, in their order (UAF Authenticator Commands, section 5.2).
    public var assertionBytes: [[UInt8]] { self.envelope.assertions.map(\.bytes) }
    /// The server's data as the client returned it.
    public var serverData: String? { self.envelope.header.serverData }
    /// The challenge that the client claims to answer; `nil` if the client failed before it had a challenge.
    public var challenge: Challenge? { self.envelope.finalChallenge?.challenge }
    /// The caller that the client claims to act for, a web origin or an app; `nil` if the client failed before it knew
    /// the caller.
    public var facetID: FacetID? { self.envelope.finalChallenge?.facetID }
    /// `true` if the client reports a failure: the response has no assertion (§18, row 15).
    public var isClientFailure: Bool { self.assertions.isEmpty }
    /// The names of the keys that signed, in the order of the assertions.
    public let credentials: [CredentialID]
}

/// The common part of both responses, with the final challenge decoded.
struct ResponseEnvelope: Hashable, Sendable {
    let header: OperationHeader
    let fcParams: String
    let assertions: [EncodedAssertion]
    /// The final challenge; `nil` if a failed client sent none.
    let finalChallenge: FinalChallengeParams?

    init(
        header: OperationHeader, fcParams: String, assertions: [EncodedAssertion], _ reading: LenientReadings
    ) throws(UAFRefusal) {
        self.header = header
        self.fcParams = fcParams
        self.assertions = assertions
        guard !fcParams.isEmpty else {
            self.finalChallenge = nil
            return
        }
        do { self.finalChallenge = try FinalChallengeParams(encoded: fcParams, reading: reading) } catch {
            throw UAFRefusal(.unacceptableContent, .finalChallengeParams, error.description)
        }
    }
}

extension UAFRefusal {
    /// Makes the refusal of an unreadable response: of the message (§8.2 step 1), or of an assertion in the message
    /// (step 5).
    fileprivate init(unreadable error: UAFError) {
        if error.code == .malformedAssertion {
            self.init(.unacceptableContent, .assertion, error.description)
        } else {
            self.init(.badRequest, .message, error.description)
        }
    }
}

extension DeviceKeyAnnouncement {
    /// Reads a device's announcement of its own keys from the signed data. The caller reads the announcement after
    /// verifying the signatures: only a holder of a key learns more.
    init?(signed extensions: [AssertionExtension], finalChallengeHash: [UInt8]) throws(UAFRefusal) {
        do throws(UAFError) {
            try self.init(among: extensions, finalChallengeHash: finalChallengeHash)
        } catch {
            throw UAFRefusal(.unacceptableContent, .assertionExtensions, error.description)
        }
    }
}

extension NumberAnswer {
    /// Reads the number that a person has typed from the signed data, after the verification of the signatures.
    init?(signed extensions: [AssertionExtension], finalChallengeHash: [UInt8]) throws(UAFRefusal) {
        do throws(UAFError) {
            try self.init(among: extensions, finalChallengeHash: finalChallengeHash)
        } catch {
            throw UAFRefusal(.unacceptableContent, .assertionExtensions, error.description)
        }
    }
}

extension [CredentialID] {
    /// Refuses the model whose signatures reveal whether a PIN is right, before anything is verified: operations count
    /// no attempts at a PIN.
    func refuseServerPin() throws(UAFRefusal) {
        for id in self where id.aaid == ServerPinModel.aaid {
            throw UAFRefusal(
                .unacceptableAuthenticator, .policy, "a PIN of personalised identities", credential: id)
        }
    }
}

/// The contents of a request that its response must match.
struct ExpectedMessage: Sendable {
    let challenge: Challenge
    let appID: String
    let serverData: String?
}

extension RelyingPartyConfiguration {
    /// Checks the message-level steps (§8.2, 1 to 4). Returns the final challenge and the hash that assertions must
    /// carry.
    func check(_ envelope: ResponseEnvelope, against expected: ExpectedMessage) throws(UAFRefusal)
        -> (params: FinalChallengeParams, hash: [UInt8])
    {
        guard self.versions.contains(envelope.header.version) else {
            throw UAFRefusal(.unacceptableContent, .version, "UAF \(envelope.header.version)")
        }
        try self.check(envelope.header.extensions)
        guard let serverData = envelope.header.serverData, let sent = expected.serverData else {
            guard envelope.header.serverData == expected.serverData else {
                throw UAFRefusal(.invalidRequest, .serverData, "server data missing or not asked for")
            }
            return try self.checkFinalChallenge(envelope, against: expected)
        }
        guard constantTimeEqual(serverData.utf8, sent.utf8) else {
            throw UAFRefusal(.invalidRequest, .serverData, "other server data than was sent")
        }
        return try self.checkFinalChallenge(envelope, against: expected)
    }

    private func checkFinalChallenge(_ envelope: ResponseEnvelope, against expected: ExpectedMessage)
        throws(UAFRefusal) -> (params: FinalChallengeParams, hash: [UInt8])
    {
        guard let params = envelope.finalChallenge else {
            throw UAFRefusal(.unacceptableContent, .finalChallengeParams, "none")
        }
        // An empty AppID stands for the caller.
        let appID = expected.appID.isEmpty ? params.facetID.text : expected.appID
        guard params.appID.hasSameBytes(as: appID) else {
            throw UAFRefusal(.unacceptableContent, .appID, "another application")
        }
        guard envelope.header.appID.isEmpty || envelope.header.appID.hasSameBytes(as: params.appID) else {
            throw UAFRefusal(.unacceptableContent, .appID, "header and parameters differ")
        }
        guard self.trusts(params.facetID, for: params.appID) else {
            throw UAFRefusal(
                .unacceptableContent, .facetID, "a facet that is not trusted", facetID: params.facetID)
        }
        guard self.channelBinding.accepts(params.channelBinding) else {
            throw UAFRefusal(.channelBindingRefused, .channelBinding, "another channel, or none told")
        }
        guard params.challenge.matches(expected.challenge) else {
            throw UAFRefusal(.invalidRequest, .challenge, "another challenge")
        }
        return (params, FinalChallengeParams.hash(ofEncoded: envelope.fcParams))
    }

    /// Checks the JSON extensions of a message or an assertion (§15).
    func check(_ extensions: [Extension]) throws(UAFRefusal) {
        for entry in extensions where entry.failIfUnknown && !self.knownExtensions.containsBytes(of: entry.id) {
            throw UAFRefusal(.unacceptableContent, .messageExtensions, "an unknown extension that must be known")
        }
    }

    /// Checks the extensions within an assertion (§15).
    func check(_ extensions: [AssertionExtension]) throws(UAFRefusal) {
        for entry in extensions where entry.isCritical && !self.knownExtensions.containsBytes(of: entry.id) {
            throw UAFRefusal(.unacceptableContent, .assertionExtensions, "an unknown critical extension")
        }
    }

    /// Returns the model of an assertion (§8.2 step 6).
    func model(of aaid: AAID, scheme: AssertionScheme) throws(UAFRefusal) -> MetadataCatalog.Entry {
        guard let entry = self.metadata.entry(aaid) else {
            throw UAFRefusal(.unknownAAID, .metadata, "no metadata for \(aaid)")
        }
        guard !self.metadata.isRevoked(aaid) else { throw UAFRefusal(.revokedAuthenticator, .revocation, "\(aaid)") }
        guard scheme == entry.statement.assertionScheme else {
            throw UAFRefusal(.unacceptableContent, .assertionScheme, "another scheme than the metadata's")
        }
        return entry
    }

    /// Checks the authenticator's version (§8.2 step 11).
    func check(version: UInt16, of statement: MetadataStatement) throws(UAFRefusal) {
        guard self.acceptsOutdatedAuthenticators || version >= statement.authenticatorVersion else {
            throw UAFRefusal(.unacceptableContent, .authenticatorVersion, "version \(version)")
        }
    }
}
