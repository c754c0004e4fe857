import Accounts
import Ceremony
import CeremonyEngine
import Crypto
import Foundation
import JOSE
import PersonalInformation
import Records
import SQLStore
import Sealing
import Synchronization
import Testing
import UAF
import _Primitives

/// The provider of codes, as apps' own sessions see it: one service with one address.
final class TestInAppServices: InAppServices {
    static let redirectURI = "https://app.example/back"
    private let logins = Mutex<[InAppLogin]>([])
    private let consent = Mutex(false)

    /// What codes were made of.
    var made: [InAppLogin] { self.logins.withLock { $0 } }

    /// Whether people have to agree to something first.
    var needsConsent: Bool {
        get { self.consent.withLock { $0 } }
        set { self.consent.withLock { $0 = newValue } }
    }

    func service(_ client: String, wish: InAppWish, accountID: String) async throws -> InAppService? {
        guard wish.redirectURI == Self.redirectURI else { return nil }
        return InAppService(
            name: "Health Portal", origin: "https://app.example", needsConsent: self.needsConsent)
    }

    func code(for login: InAppLogin) async throws -> InAppCode {
        guard !self.needsConsent else { return .consentRequired }
        let count = self.logins.withLock { logins in
            logins.append(login)
            return logins.count
        }
        return .code(SecretBytes(Array("code-\(count)".utf8)))
    }
}

extension TestServer {
    static let service = "health"

    /// Makes a client a service.
    func addService(
        _ id: String = TestServer.service, roles: [ServiceRole]? = nil,
        attributes: [PersonalAttribute: ServiceProfile.Requirement] = [:], loginDomains: [LoginDomain] = [],
        _ adjust: (inout ServiceProfile) -> Void = { _ in }
    ) async throws {
        if try await self.database.client(id) == nil {
            try await self.database.addClient(
                ClientRecord(
                    id: id, name: "Health Portal", redirectURIs: [TestInAppServices.redirectURI],
                    postLogoutRedirectURIs: [], secretDigest: Sealing.digest(ofSecret: "secret"),
                    createdAt: self.clock.now, settings: ClientSettings()), limit: 100,
                audit: AuditEvent(.clientRenamed, at: self.clock.now))
        }
        var profile = try ServiceProfile(
            roles: roles ?? [try Self.role("patient")], attributes: attributes, loginDomains: loginDomains)
        adjust(&profile)
        _ = try await self.database.setServiceProfile(
            profile, client: id, audit: AuditEvent(.serviceChanged, at: self.clock.now, detail: id))
    }

    static func role(
        _ id: String, _ factors: [[AuthenticatorType]] = [[.pin, .device], [.biometric, .device]],
        isDefault: Bool = true
    ) throws -> ServiceRole {
        try ServiceRole(id: id, name: id.capitalized, factors: AuthenticatorMatrix(factors), isDefault: isDefault)
    }

    // MARK: Keys and answers

    func keySet() async throws -> ManagerKeySet {
        let root = try await self.engine.identities.keys.root()
        return try ManagerKeySet(
            verifying: try await self.engine.identities.keys.keySet(), server: IdentityPhone.issuer,
            roots: JWKSet([root].compactMap(\.self)), at: self.clock.now)
    }

    /// What a reply says, after its signature was verified.
    func content(of reply: IdentityReply, to call: IdentityCall) async throws -> ManagerResponse.Content {
        try ManagerResponse(
            verifying: String(decoding: reply.body, as: UTF8.self), server: IdentityPhone.issuer,
            request: ManagerResponse.name(ofRequest: call.proof.map { Array($0.utf8) } ?? call.body),
            keys: try await self.keySet().signingKeys
        ).content
    }

    // MARK: Activations

    /// An account with a personalised app.
    func personalise(
        _ username: String = "alice", factors: [AuthenticatorType] = [.device, .pin]
    ) async throws -> (account: AccountRecord, phone: IdentityPhone) {
        let account = try await self.directory.create(username: username, displayName: nil, by: "test")
        return (account, try await self.addIdentity(to: account, factors: factors))
    }

    /// An offer whose PIN costs nothing to try, and the secrets of whoever has it.
    func offer(to account: AccountRecord, invite: String? = nil, lifetime: Duration = .seconds(900)) async throws
        -> TestOffer
    {
        let offer = TestOffer(id: invite ?? RandomSource.system.identifier())
        try await self.database.offer(
            OfferRecord(
                id: offer.id, accountID: account.id, claimDigest: ProcessCode.digest(ofClaim: offer.claim),
                pinKey: Array(offer.pin.publicKey.compressedRepresentation),
                pinParameters: String(decoding: JSON.object(try PinParameters().json).serialized, as: UTF8.self),
                name: nil, inviteID: invite, challenge: RandomSource.system.token(), createdAt: self.clock.now,
                expiresAt: self.clock.now + lifetime),
            replacing: false, limit: nil,
            audit: AuditEvent(.init(rawValue: "activation-offered"), at: self.clock.now, accountID: account.id))
        return offer
    }

    /// A personalised app of an account that is there.
    func addIdentity(to account: AccountRecord, factors: [AuthenticatorType] = [.device, .pin]) async throws
        -> IdentityPhone
    {
        let offer = try await self.offer(to: account)
        let phone = IdentityPhone(self, id: offer.id, factors: factors)
        let proven = try await self.prove(offer, by: phone)
        let call = try await self.enrolCall(phone, proven)
        _ = try await phone.read(
            try await self.engine.identities.enrolments.enroll(offer.id, call), to: call,
            as: ActivationReceipt.self)
        return phone
    }

    func open(_ offer: TestOffer, claim: SecretBytes? = nil) async throws -> OpenResponse {
        let call = IdentityCall(
            path: "/identity/activations/\(offer.id)/open",
            body: OpenRequest(claim: claim ?? offer.claim, security: nil).serialized, proof: nil)
        return try await self.read(try await self.engine.identities.openings.open(offer.id, call), to: call)
    }

    /// Types a PIN: the right one, or another.
    ///
    /// - Parameter phone: Whose key the proof names; by default nobody's.
    func type(_ offer: TestOffer, pin: P256.Signing.PrivateKey? = nil, by phone: IdentityPhone? = nil) async throws
        -> ProveResponse
    {
        let call = try await self.proveCall(offer, pin: pin, by: phone)
        return try await self.read(try await self.engine.identities.openings.prove(offer.id, call), to: call)
    }

    func proveCall(_ offer: TestOffer, pin: P256.Signing.PrivateKey? = nil, by phone: IdentityPhone? = nil) async throws
        -> IdentityCall
    {
        let challenge = try await self.open(offer).challenge
        let device = try JWK(p256: (phone?.signing ?? P256.Signing.PrivateKey()).publicKey.rawRepresentation).thumbprint
        let signature = try (pin ?? offer.pin).signature(
            for: Data(
                ProveRequest.Proof.signedBytes(activation: offer.id, challenge: challenge, device: device)))
        let sealed = try SealedMessage(
            sealing: ProveRequest.Proof(signature: Array(signature.rawRepresentation)),
            to: try await self.keySet().sealingKeys[0],
            for: .activationProof(activation: offer.id, challenge: challenge))
        return IdentityCall(
            path: "/identity/activations/\(offer.id)/prove",
            body: ProveRequest(claim: offer.claim, device: device, proof: sealed).serialized, proof: nil)
    }

    func prove(_ offer: TestOffer, by phone: IdentityPhone? = nil) async throws -> ProvenActivation {
        guard case .proven(let proven) = try await self.type(offer, by: phone) else {
            throw IdentityProblem(.lockedOut)
        }
        return proven
    }

    /// - Parameter scheme: By default what the server wants.
    func enrolCall(
        _ phone: IdentityPhone, _ proven: ProvenActivation, name: String = "Alice's phone", scheme: PinScheme? = nil
    ) async throws -> IdentityCall {
        let sealed = try SealedMessage(
            sealing: try self.enrolment(phone, proven, name: name, scheme: scheme),
            to: try await self.keySet().sealingKeys[0], for: Self.place(ofEnrolment: phone, proven))
        return try phone.call("/identity/activations/\(phone.id)/enroll", EnrollRequest(enrolment: sealed))
    }

    /// What an enrolment is sealed for.
    static func place(ofEnrolment phone: IdentityPhone, _ proven: ProvenActivation) -> SealedMessage.Place {
        .enrolment(activation: phone.id, token: proven.token.withBytes { Base64URL.encode(Array($0)) })
    }

    /// An enrolment, as it is sealed.
    func enrolment(
        _ phone: IdentityPhone, _ proven: ProvenActivation, name: String = "Alice's phone", scheme: PinScheme? = nil
    ) throws -> EnrollRequest.Enrolment {
        EnrollRequest.Enrolment(
            token: proven.token, name: name, signingKey: try JWK(p256: phone.signing.publicKey.rawRepresentation),
            encryptionKey: try JWK(p256: phone.encryption.publicKey.rawRepresentation),
            response: try phone.registration(
                AuthenticatorType.allCases.compactMap { phone.factors[$0] }, Challenge(proven.challenge)),
            pinScheme: scheme ?? (proven.pinServiceKey == nil ? .pin1 : .pin2))
    }

    func read<Message: IdentityMessage>(_ reply: IdentityReply, to call: IdentityCall, as: Message.Type = Message.self)
        async throws -> Message
    {
        switch try await self.content(of: reply, to: call) {
        case .message(let object): return try Message(json: object)
        case .refusal(let problem): throw problem
        }
    }

    // MARK: Logins

    /// A page's code.
    func showCode(
        _ reference: String = "request", service: String = TestServer.service, byLink: Bool = false,
        origin: String? = "https://health.example", named name: String = "Health Portal"
    ) async throws -> ProcessCode {
        let view = try await self.engine.signIns.begin(
            reference: reference, browser: self.browser,
            requester: SignInRequester(
                client: service, service: name, origin: origin, address: "192.0.2.1",
                browser: "Chrome on Linux"), source: "a")
        let codes = try Self.codes(of: view)
        let text = byLink ? String(codes.link.drop { $0 != "#" }.dropFirst()) : codes.qrContent
        return try ProcessCode(parsing: text, keys: try await self.keySet().signingKeys)
    }

    private static func codes(of view: SignInView) throws -> SignInCodes {
        guard let codes = view.codes else { throw CeremonyError(.wrongState) }
        return codes
    }

    /// The attempts of an activation as they are on record.
    func lockout(of phone: IdentityPhone) async throws -> LockoutRecord? {
        try await self.database.activation(id: phone.id)?.lockout
    }
}

extension IdentityPhone {
    /// The public half of the key that its device signs for itself with.
    var signingJWK: JWK { get throws { try JWK(p256: self.signing.publicKey.rawRepresentation) } }

    /// What a question about the PIN of an activation opens with that is not the phone's yet.
    func opening(_ offer: TestOffer, _ proven: ProvenActivation) throws -> EvaluationRequest.Opening {
        EvaluationRequest.Opening(claim: offer.claim, token: proven.token, signingKey: try self.signingJWK)
    }
}

extension JWK {
    /// The key of a point on P-256: x ‖ y.
    init(p256 point: Data) throws {
        let point = Array(point)
        try self.init(.p256(x: Array(point[..<32]), y: Array(point[32...]), d: nil))
    }
}

/// What whoever has an activation's code and PIN knows.
struct TestOffer: Sendable {
    let id: String
    let secret = SecretBytes(RandomSource.system.bytes(ProcessCode.secretBytes))
    let pin = P256.Signing.PrivateKey()

    var claim: SecretBytes { ProcessCode.claim(of: self.secret) }
}

/// Expects a refusal with that code, whatever it says beside.
func expectRefusal(
    _ code: IdentityProblem.Code, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> Void
) async {
    do {
        try await body()
        Issue.record("nothing was refused", sourceLocation: sourceLocation)
    } catch let problem as IdentityProblem {
        #expect(problem.code == code, sourceLocation: sourceLocation)
    } catch {
        Issue.record(error, sourceLocation: sourceLocation)
    }
}
