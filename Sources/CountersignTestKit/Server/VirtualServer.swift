public import Ceremony
public import Countersign
import Crypto
public import Foundation
import JOSE
public import UAF
public import _Primitives

/// A UAF server in memory, behind a ``Transport``.
///
/// The server issues tokens, makes UAF requests, and checks the answers' signatures, hashes and counters. A test can
/// make it answer differently.
public actor VirtualServer: Transport {
    /// A key that the server has accepted.
    public struct Credential: Sendable {
        /// The owner of the key.
        public let username: Username
        /// The model that made the key.
        public let aaid: AAID
        /// The key.
        public let publicKey: P256Key
        /// The counter of the key's last signature.
        public internal(set) var signCounter: UInt32
    }

    /// A registered public key.
    public struct P256Key: Sendable {
        let key: P256.Signing.PublicKey
    }

    /// An accepted answer.
    public struct Accepted: Sendable {
        /// The account of the answer.
        public let username: Username
        /// The signed data of the assertions, with models and counters.
        public let assertions: [SignedData]
    }

    /// A denial whose signature the server has verified.
    public struct Denial: Hashable, Sendable {
        /// The account of the device that signed.
        public let username: Username
        /// The person's statement.
        public let statement: DenialStatement

        /// Describes a denial, to compare the denial with a received denial.
        public init(username: Username, statement: DenialStatement) {
            self.username = username
            self.statement = statement
        }
    }

    private struct Ceremony {
        var isUsed = false
        var isExpired = false
        var answer: ReturnUAFRequest
        /// The account whose keys are deleted when the token is redeemed.
        var deregistered: Username?
        /// The person whose device alone redeems the token; `nil` for every device.
        var target: Username?
    }

    /// The address of the server.
    public nonisolated let baseURL: URL
    /// The AppID of the requests; empty for the caller's facet.
    public var appID = ""
    /// The accepted keys.
    public private(set) var credentials: [KeyID: Credential] = [:]
    /// Every request that reached the server.
    public private(set) var requests: [TransportRequest] = []
    /// The error codes of clients that gave up.
    public private(set) var clientErrorCodes: [Int] = []
    /// The ASM status codes of clients that gave up.
    public private(set) var asmStatusCodes: [Int] = []
    /// The device names of registrations.
    public private(set) var deviceNames: [String] = []
    /// The contexts of the accepted registrations.
    public private(set) var registrationContexts: [JSONObject] = []
    /// The right authentications, whatever judgement the test has set (``judge(_:)``).
    public private(set) var accepted: [Accepted] = []

    /// The denials with a right signature.
    public private(set) var denials: [Denial] = []

    private var certificate: [UInt8]?
    private var versions = [Version.uaf11]
    private var ceremonies: [String: Ceremony] = [:]
    /// The encryption key of each person's device that announced its keys last.
    private var encryptionKeys: [Username: JWK] = [:]
    /// The signing keys that devices have announced, by their names.
    private var signingKeys: [String: (username: Username, key: JWK)] = [:]
    private var challenges: [Challenge: (username: Username, transaction: [Transaction])] = [:]
    /// The numbers that the person has to type, by the challenge of the request.
    private var numbers: [Challenge: String] = [:]
    private var verdicts: [ServerResponse] = []
    private var overrides: [@Sendable (TransportRequest) async throws -> TransportResponse?] = []
    private var number = 0
    /// The evidence about the app that registrations shall have.
    private var appAttestation: AppAttestationWish?
    /// The devices that the server knows; `nil` for a server that knows none.
    var devices: VirtualDevices?
    /// The accepted answers, by their bodies, with the person who answered.
    var judgedAnswers: [[UInt8]: (username: Username, response: ServerResponse)] = [:]
    /// The number of the next answers to a path that get lost, by the path.
    var lostAnswers: [String: Int] = [:]

    /// Creates a server at an address.
    public init(baseURL: URL) { self.baseURL = baseURL }

    // MARK: What a test tells it

    /// Sets the AppID of the requests from now on.
    public func use(appID: String) { self.appID = appID }

    /// Sets the protocol versions of the requests from now on, with a dictionary for each version.
    public func offer(_ versions: [Version]) { self.versions = versions }

    /// Sets the evidence about the app that the requests for registrations want from now on; `nil` for none. The server
    /// does not judge the evidence, and keeps it in ``registrationContexts``.
    public func want(_ appAttestation: AppAttestationWish?) { self.appAttestation = appAttestation }

    /// Sets the certificate of the answers from now on, DER; `nil` for none.
    public func show(certificate: [UInt8]?) { self.certificate = certificate }

    /// Adds a judgement for the next right answer or the next request to delete keys, in place of 1200. The judgements
    /// serve in their order, each once.
    public func judge(_ response: ServerResponse) { self.verdicts.append(response) }

    /// Answers requests with the response of `body`; without a response, a later interception or the server answers.
    public func intercept(_ body: @escaping @Sendable (TransportRequest) async throws -> TransportResponse?) {
        self.overrides.append(body)
    }

    /// Ends all interceptions.
    public func stopIntercepting() { self.overrides = [] }

    /// Adds an earlier key, with its public half as an uncompressed point (UAF Registry, ECC_X962_RAW). Throws
    /// `UAFError` for other bytes.
    public func know(
        _ key: KeyID, of username: Username, aaid: AAID, publicKey: [UInt8], signCounter: UInt32 = 0
    ) throws {
        self.credentials[key] = Credential(
            username: username, aaid: aaid,
            publicKey: P256Key(key: try P256Encoding.publicKey(publicKey, format: .eccX962Raw)),
            signCounter: signCounter)
    }

    /// Forgets a person's keys.
    public func forget(_ username: Username) {
        self.credentials = self.credentials.filter { $0.value.username != username }
    }

    /// Forgets keys.
    public func forget(_ keys: Set<KeyID>) { self.credentials = self.credentials.filter { !keys.contains($0.key) } }

    /// Creates a payload for a registration.
    public func registration(for username: Username, policy: Policy, channel: String? = nil) throws -> OutOfBandPayload
    {
        try self.issue(
            .registration, self.registrationMessage(username, policy), .registration, channel: channel)
    }

    /// Creates a payload for a registration with one kind of authenticator, with keys in the phone's storage.
    public func registration(for username: Username, by kind: AuthenticatorDescriptor.Kind) throws -> OutOfBandPayload {
        let factors: [AuthenticatorDescriptor.Kind: AuthenticatorModel.Factor] = [
            .pin: .pin, .password: .password, .fingerprint: .fingerprint, .face: .face,
            .devicePasscode: .devicePasscode, .devicePossession: .devicePossession,
        ]
        let model = AuthenticatorModel(factor: factors[kind] ?? .pin, keyStore: .file)
        return try self.registration(
            for: username, policy: Policy(accepted: [[MatchCriteria(aaid: [model.aaid])]]))
    }

    /// Creates a payload for the confirmation of a text.
    public func authentication(username: Username? = nil, text: String) throws -> OutOfBandPayload {
        try self.authentication(username: username, transaction: [Transaction(content: Array(text.utf8))])
    }

    /// Creates a payload for an authentication.
    ///
    /// With a number, only an answer with this number is right. Without a policy, every key of this product that verifies
    /// a person meets the policy. With a username, the policy
    /// names the keys of this person, or an invented key if the person has none.
    public func authentication(
        policy: Policy? = nil, username: Username? = nil, transaction: [Transaction] = [],
        requester: ReturnUAFRequest.Requester? = nil, channel: String? = nil, number: String? = nil
    ) throws -> OutOfBandPayload {
        let before = Set(self.challenges.keys)
        let message = self.authenticationMessage(policy, username, transaction)
        for challenge in self.challenges.keys where !before.contains(challenge) { self.numbers[challenge] = number }
        let payload = try self.issue(.authentication, message, .authentication, requester: requester, channel: channel)
        self.ceremonies[payload.redeemData.token]?.answer.numberLength = number?.utf8.count
        return payload
    }

    /// Creates a payload that deletes a person's keys when its token is redeemed. A later redemption of the token gets
    /// the names of the deleted keys.
    public func deregistration(of username: Username) throws -> OutOfBandPayload {
        let payload = try self.issue(.deregistration, [], .deregistration)
        self.ceremonies[payload.redeemData.token]?.deregistered = username
        return payload
    }

    /// Creates a payload for any message.
    public func payload(for operation: UAF.Operation, message: String) throws -> OutOfBandPayload {
        try self.issue(operation, Array(message.utf8), .authentication)
    }

    /// Encrypts a payload to the device of a person and returns the JSON text (`application/jose`). The server knows the
    /// device's key from the last registration or authentication that announced the key.
    ///
    /// Throws `JOSEError` `unknownKey` if no device of the person has announced a key.
    public func encrypted(_ payload: OutOfBandPayload, for username: Username) throws -> String {
        guard let key = self.encryptionKeys[username] else { throw JOSEError(.unknownKey, "no device keys") }
        return try payload.encryptedJSON(to: key)
    }

    /// Binds a payload's token to the device of a person: the server redeems the token only with the device's proof.
    /// Returns the payload with the name of the device's key. The server has to know devices
    /// (``serveDevices(dispatchers:now:)``).
    ///
    /// Throws `JOSEError` `unknownKey` if no device of the person has announced a key.
    public func bound(_ payload: OutOfBandPayload, to username: Username) throws -> OutOfBandPayload {
        guard let key = self.devices?.keys[username]?.encryption.keyID else {
            throw JOSEError(.unknownKey, "no device keys")
        }
        self.ceremonies[payload.redeemData.token]?.target = username
        return try OutOfBandPayload(redeemData: payload.redeemData, data: payload.data, deviceKey: key)
    }

    /// Makes a payload's token expired.
    public func expire(_ payload: OutOfBandPayload) { self.ceremonies[payload.redeemData.token]?.isExpired = true }

    // MARK: Transport

    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        var response = try await self.answer(request)
        try self.loseAnswer(to: request)
        response.serverCertificate = response.serverCertificate ?? self.certificate
        return response
    }

    private func answer(_ request: TransportRequest) async throws -> TransportResponse {
        self.requests.append(request)
        for override in self.overrides {
            if let response = try await override(request) { return response }
        }
        let path = request.url.path().split(separator: "/").joined(separator: "/")
        if RedeemPath(rawValue: path) != nil { return self.redeem(request) }
        if let response = self.answerAboutTarget(request) { return response }
        switch path {
        case "uaf/1.1/request/authentication":
            let context = try GetUAFRequest(parsing: request.body).context
            let username = try context?.string("username")
            return self.message(
                ReturnUAFRequest(
                    statusCode: .ok, operation: .authentication,
                    uafRequest: String(
                        decoding: self.authenticationMessage(nil, username, []), as: UTF8.self)
                ).serialized)
        case "uaf/1.1/request/registration":
            guard request.headers.contains(where: { $0 == ("Authorization", "Bearer virtual-jwt") }) else {
                return TransportResponse(status: 401, headers: [], body: [])
            }
            let username = try GetUAFRequest(parsing: request.body).context?.string("username") ?? ""
            var answer = ReturnUAFRequest(
                statusCode: .ok, operation: .registration,
                uafRequest: String(decoding: self.registrationMessage(username, Self.anything), as: UTF8.self))
            answer.appAttestation = self.appAttestation
            return self.message(answer.serialized)
        case "uaf/1.1/request/deregistration": return try self.deregister(request)
        case "uaf/1.1/registration":
            return self.message(self.judgeOnce(request) { self.judgeRegistration(request.body) }.serialized)
        case "uaf/1.1/authentication":
            return self.message(self.judgeOnce(request) { self.judgeAuthentication(request.body) }.serialized)
        default: return TransportResponse(status: 404, headers: [], body: [])
        }
    }

    /// A policy for which one authenticator is enough: any model of this product that verifies the person.
    public static var anything: Policy {
        Policy(
            accepted: AuthenticatorModel.allCases.filter { !$0.info.isSilent }.map { [MatchCriteria(aaid: [$0.aaid])] })
    }
}

// MARK: - Making requests

extension VirtualServer {
    /// The paths at which tokens are redeemed.
    private enum RedeemPath: String {
        case registration = "token/redeem/registration"
        case authentication = "token/redeem/authentication"
        case deregistration = "token/redeem/deregistration"
    }

    private func issue(
        _ operation: UAF.Operation, _ message: [UInt8], _ path: RedeemPath,
        requester: ReturnUAFRequest.Requester? = nil,
        channel: String? = nil
    ) throws -> OutOfBandPayload {
        self.number += 1
        let token = "token-\(self.number)"
        var answer = ReturnUAFRequest(
            statusCode: .ok, operation: operation, uafRequest: String(decoding: message, as: UTF8.self),
            lifetimeMilliseconds: 180_000, requester: requester, dispatchChannel: channel)
        if operation == .registration { answer.appAttestation = self.appAttestation }
        self.ceremonies[token] = Ceremony(answer: answer)
        return try OutOfBandPayload(
            redeemData: OutOfBandPayload.RedeemData(
                token: token, redeemURL: self.baseURL.appending(path: path.rawValue)))
    }

    private func registrationMessage(_ username: Username, _ policy: Policy) -> [UInt8] {
        self.message { version in
            RegistrationRequest(
                header: OperationHeader(version: version, operation: .registration, appID: self.appID),
                challenge: self.newChallenge(username, []), username: username, policy: policy
            ).serialized
        }
    }

    /// Returns one message with a dictionary for each offered version.
    private func message(_ dictionary: (Version) -> [UInt8]) -> [UInt8] {
        let dictionaries = self.versions.map { dictionary($0).dropFirst().dropLast() }
        return Array("[".utf8) + Array(dictionaries.joined(separator: Array(",".utf8))) + Array("]".utf8)
    }

    private func authenticationMessage(
        _ policy: Policy?, _ username: Username?, _ transaction: [Transaction]
    ) -> [UInt8] {
        var policy = policy ?? Self.anything
        if let username {
            var keys = self.credentials.filter { $0.value.username == username }.map(\.key)
            // A request does not reveal if the server knows a name.
            if keys.isEmpty, let invented = try? KeyID(RandomSource.system.bytes(32)) { keys = [invented] }
            policy.accepted = policy.accepted.map { alternative in
                alternative.map { criteria in
                    var criteria = criteria
                    criteria.keyIDs = keys
                    return criteria
                }
            }
        }
        let asked = policy
        return self.message { version in
            AuthenticationRequest(
                header: OperationHeader(version: version, operation: .authentication, appID: self.appID),
                challenge: self.newChallenge("", transaction), transaction: transaction, policy: asked
            ).serialized
        }
    }

    private func newChallenge(_ username: Username, _ transaction: [Transaction]) -> Challenge {
        let challenge = Challenge(random: .system)
        self.challenges[challenge] = (username, transaction)
        return challenge
    }

    private func message(_ body: [UInt8]) -> TransportResponse {
        TransportResponse(
            status: 200, headers: [("content-type", "application/fido+uaf; charset=UTF-8")], body: body)
    }
}

// MARK: - Deregistration

extension VirtualServer {
    /// Returns a message that names a person's keys; `nil` if the person has none.
    private func deregistrationMessage(of username: Username) -> String? {
        let names = self.credentials.filter { $0.value.username == username }.map {
            DeregisterAuthenticator.key($0.value.aaid, $0.key)
        }
        guard !names.isEmpty else { return nil }
        let message = DeregistrationRequest(
            header: OperationHeader(version: .uaf11, operation: .deregistration, appID: self.appID),
            authenticators: names)
        return String(decoding: message.serialized, as: UTF8.self)
    }

    /// Deletes the keys in the context, and answers with the message that makes the client delete the keys.
    private func deregister(_ request: TransportRequest) throws -> TransportResponse {
        let context = try GetUAFRequest(parsing: request.body).context ?? [:]
        let hasToken = request.headers.contains { $0 == ("Authorization", "Bearer virtual-jwt") }
        let prover = self.prover(of: request)
        guard try hasToken || prover != nil && context.string("username") == prover else {
            return TransportResponse(status: 401, headers: [], body: [])
        }
        let verdict = self.verdict()
        guard verdict.statusCode == .ok, try context.requiredString("mode") == "key" else {
            return self.message(
                ReturnUAFRequest(statusCode: verdict.statusCode, operation: .deregistration).serialized)
        }
        let names = try (context.array("keys") ?? []).map { value in
            guard case .object(let key) = value else { throw JSONError(.wrongType, "keys") }
            return (
                aaid: try AAID(try key.requiredString("aaid")),
                keyID: try KeyID(base64URL: try key.requiredString("keyID"))
            )
        }
        for name in names { self.credentials[name.keyID] = nil }
        let message = DeregistrationRequest(
            header: OperationHeader(version: .uaf11, operation: .deregistration, appID: self.appID),
            authenticators: names.map { .key($0.aaid, $0.keyID) })
        return self.message(
            ReturnUAFRequest(
                statusCode: .ok, operation: .deregistration,
                uafRequest: String(decoding: message.serialized, as: UTF8.self)
            ).serialized)
    }
}

// MARK: - Judging answers

extension VirtualServer {
    private func redeem(_ request: TransportRequest) -> TransportResponse {
        guard case .object(let body)? = try? JSON(parsing: request.body), let token = try? body.string("token"),
            let ceremony = self.ceremonies[token]
        else { return self.problem(404) }
        if let target = ceremony.target {
            guard self.prover(of: request) == target else { return self.problem(401) }
        }
        let isCarriedOut = ceremony.isUsed && ceremony.deregistered != nil
        guard !ceremony.isUsed || isCarriedOut else { return self.problem(409) }
        guard !ceremony.isExpired || isCarriedOut else { return self.problem(410) }
        self.ceremonies[token]?.isUsed = true
        if let username = ceremony.deregistered, !isCarriedOut {
            self.ceremonies[token]?.answer.uafRequest = self.deregistrationMessage(of: username)
            self.forget(username)
            return self.message((self.ceremonies[token]?.answer ?? ceremony.answer).serialized)
        }
        return self.message(ceremony.answer.serialized)
    }

    private func problem(_ status: Int) -> TransportResponse {
        TransportResponse(
            status: status, headers: [("Content-Type", "application/problem+json")], body: Array("{}".utf8))
    }

    private func noteFailure(_ context: JSONObject?) {
        if let code = try? context?.integer("clientErrorCode", as: Int.self) { self.clientErrorCodes.append(code) }
        if let code = try? context?.integer("asmStatusCode", as: Int.self) { self.asmStatusCodes.append(code) }
    }

    /// Judges a denial of any request that the server has made and nobody has answered.
    private func judgeDenial(_ compact: String) -> ServerResponse {
        guard let token = try? SignedDenial.token(of: compact), let name = token.header.keyID,
            let (username, key) = self.signingKeys[name], let challenge = token.uncheckedClaim("challenge"),
            let denied = self.challenges.keys.first(where: { $0.text == challenge }),
            let verifier = try? VerificationKey(key, algorithm: .es256),
            let denial = try? SignedDenial(
                verifying: token, audience: self.baseURL.absoluteString, challenge: challenge, with: verifier)
        else { return ServerResponse(statusCode: .unauthorized) }
        self.challenges[denied] = nil
        self.denials.append(Denial(username: username, statement: denial.statement))
        return self.verdict()
    }

    private func verdict(_ tokens: [Token] = []) -> ServerResponse {
        self.verdicts.isEmpty ? ServerResponse(statusCode: .ok, additionalTokens: tokens) : self.verdicts.removeFirst()
    }

    /// Keeps the keys that a device has announced. Returns the name under which the server knows the device.
    private func noteDeviceKeys(of username: Username, _ extensions: [AssertionExtension], _ fcParams: String)
        -> String?
    {
        let hash = FinalChallengeParams.hash(ofEncoded: fcParams)
        guard let told = try? DeviceKeyAnnouncement(among: extensions, finalChallengeHash: hash) else { return nil }
        let (x, y) = (Array(told.encryptionKey[1..<33]), Array(told.encryptionKey[33...]))
        self.encryptionKeys[username] = try? JWK(.p256(x: x, y: y, d: nil), use: "enc", algorithm: "ECDH-ES")
        let (signingX, signingY) = (Array(told.signingKey[1..<33]), Array(told.signingKey[33...]))
        guard let key = try? JWK(.p256(x: signingX, y: signingY, d: nil)) else { return nil }
        self.signingKeys[key.thumbprint] = (username, key)
        return self.know(told, of: username)
    }

    fileprivate func judgeRegistration(_ body: [UInt8]) -> ServerResponse {
        guard let sent = try? SendUAFResponse(parsing: body),
            let response = try? RegistrationResponse(parsing: sent.uafResponse.utf8)
        else { return ServerResponse(statusCode: .badRequest) }
        guard !response.assertions.isEmpty else {
            self.noteFailure(sent.context)
            return ServerResponse(statusCode: .unacceptableContent)
        }
        guard let parameters = try? FinalChallengeParams(encoded: response.fcParams),
            let username = self.challenges.removeValue(forKey: parameters.challenge)?.username
        else { return ServerResponse(statusCode: .invalidRequest) }
        var keys: [(KeyID, AAID, P256.Signing.PublicKey)] = []
        var extensions: [AssertionExtension] = []
        for assertion in response.assertions {
            guard let read = try? RegistrationAssertion(parsing: assertion.bytes),
                let key = try? P256Encoding.publicKey(
                    read.keyRegistrationData.publicKey, format: read.keyRegistrationData.publicKeyFormat),
                let signature = try? P256Encoding.signature(
                    read.attestation.signature, algorithm: read.keyRegistrationData.signatureAlgorithm),
                key.isValidSignature(signature, for: read.keyRegistrationData.signedBytes),
                read.keyRegistrationData.finalChallengeHash == FinalChallengeParams.hash(ofEncoded: response.fcParams)
            else { return ServerResponse(statusCode: .unacceptableContent) }
            keys.append((read.keyRegistrationData.keyID, read.keyRegistrationData.aaid, key))
            extensions += read.keyRegistrationData.extensions
        }
        var verdict = self.verdict()
        if [.ok, .accepted].contains(verdict.statusCode) {
            if let name = try? sent.context?.string("deviceName") { self.deviceNames.append(name) }
            self.registrationContexts.append(sent.context ?? [:])
            if let name = self.noteDeviceKeys(of: username, extensions, response.fcParams) { verdict.deviceKey = name }
            for (keyID, aaid, key) in keys {
                self.credentials[keyID] = Credential(
                    username: username, aaid: aaid, publicKey: P256Key(key: key), signCounter: 0)
            }
        }
        return verdict
    }

    fileprivate func judgeAuthentication(_ body: [UInt8]) -> ServerResponse {
        guard let sent = try? SendUAFResponse(parsing: body),
            let response = try? AuthenticationResponse(parsing: sent.uafResponse.utf8)
        else { return ServerResponse(statusCode: .badRequest) }
        guard !response.assertions.isEmpty else {
            self.noteFailure(sent.context)
            if let denial = try? sent.context?.string("denial") { return self.judgeDenial(denial) }
            return ServerResponse(statusCode: .unacceptableContent)
        }
        guard let parameters = try? FinalChallengeParams(encoded: response.fcParams),
            let transaction = self.challenges.removeValue(forKey: parameters.challenge)?.transaction
        else { return ServerResponse(statusCode: .invalidRequest) }
        var username = ""
        var read: [SignedData] = []
        for assertion in response.assertions {
            guard let data = try? AuthenticationAssertion(parsing: assertion.bytes) else {
                return ServerResponse(statusCode: .unacceptableContent)
            }
            let signed = data.signedData
            guard let credential = self.credentials[signed.keyID] else {
                return ServerResponse(statusCode: .unknownKeyID)
            }
            let isSilent = AuthenticatorModel(aaid: signed.aaid)?.info.isSilent ?? true
            let expected = isSilent ? [] : transaction.first?.contentHash ?? []
            guard let signature = try? P256Encoding.signature(data.signature, algorithm: signed.signatureAlgorithm),
                credential.publicKey.key.isValidSignature(signature, for: signed.signedBytes),
                signed.finalChallengeHash == FinalChallengeParams.hash(ofEncoded: response.fcParams),
                signed.signCounter > credential.signCounter, signed.transactionContentHash == expected,
                signed.mode == (expected.isEmpty ? .userVerified : .transactionConfirmed)
            else { return ServerResponse(statusCode: .unacceptableContent) }
            self.credentials[signed.keyID]?.signCounter = signed.signCounter
            username = credential.username
            read.append(signed)
        }
        let extensions = read.flatMap(\.extensions)
        if let number = self.numbers[parameters.challenge] {
            let hash = FinalChallengeParams.hash(ofEncoded: response.fcParams)
            guard (try? NumberAnswer(among: extensions, finalChallengeHash: hash))?.isNumber(number) == true else {
                var refusal = ServerResponse(statusCode: .unacceptableContent)
                refusal.isNumberWrong = true
                return refusal
            }
        }
        let deviceKey = self.noteDeviceKeys(of: username, extensions, response.fcParams)
        self.accepted.append(Accepted(username: username, assertions: read))
        var verdict = self.verdict([Token(kind: .jwt, value: "virtual-jwt")])
        verdict.deviceKey = verdict.deviceKey ?? deviceKey
        return verdict
    }
}
