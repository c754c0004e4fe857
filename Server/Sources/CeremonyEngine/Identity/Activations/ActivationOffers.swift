import Ceremony
import Crypto
import Dispatch
import Store
public import _Primitives

/// An offer to personalise an app, as it is given out once.
public struct ActivationOffer: Sendable, Equatable {
    /// What the activation will be called.
    public let id: String
    /// The text of the code, for a QR code or a link.
    public let code: String
    /// The PIN that goes another way than the code; `nil` where whoever asked for the offer has chosen it.
    public let pin: String?
    /// Until when the code can be used.
    public let expiresAt: Timestamp
}

/// Offers of activations that operators and invitations make: code and PIN are made here, and what is kept of both tells
/// nobody what they were.
public struct ActivationOffers: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any AccountStore & IdentityStore & InviteStore
    let keys: ManagerKeys
    let budgets: Budgets

    /// Offers an activation to somebody who asks for it on a page, with a PIN that they have chosen.
    ///
    /// Throws as ``offer(accountID:pin:name:invite:lifetime:isAnew:limit:by:)``, and `tooManyRequests`: `source` has a budget
    /// of codes. An account has ``Limits/openOffersPerAccount`` at a time.
    public func offerOnPage(
        accountID: String, pin: String, name: String? = nil, isAnew: Bool = false, source: String
    ) async throws -> ActivationOffer {
        let now = self.time.now()
        try CeremonyError.throwShortage(self.budgets.codes.spend(source, at: now))
        return try await self.offer(
            accountID: accountID, pin: pin, name: name, isAnew: isAnew,
            limit: isAnew ? nil : self.limits.openOffersPerAccount, by: nil)
    }

    /// Offers an account an activation.
    ///
    /// - Parameters:
    ///   - pin: The PIN, as many digits as PINs have; `nil` makes one.
    ///   - name: What the device is to be called.
    ///   - invite: The invitation that it comes with: the activation has its identifier. By default the open one that the
    ///     account was made for, if it was made for one.
    ///   - lifetime: How long the code is good; by default as long as the invitation, or else as other enrolments.
    ///   - isAnew: Whether it takes the place of an offer that the invitation has already and that nobody has used.
    ///   - limit: The most codes that the account may have at a time, this one among them; `nil` is no bound.
    ///   - operator: The name for the audit trail; `nil` where the person asks.
    ///
    /// Throws `CeremonyError`: `notFound` for the account, `locked`, `invalidRequest` and `pinTooSimple` for the PIN;
    /// `conflict` where the invitation has an activation, or the account as many codes as it may.
    public func offer(
        accountID: String, pin: String? = nil, name: String? = nil, invite: String? = nil,
        lifetime: Duration? = nil, isAnew: Bool = false, limit: Int? = nil, by operator: String?
    ) async throws -> ActivationOffer {
        guard let account = try await self.store.account(id: accountID) else { throw CeremonyError(.notFound) }
        guard !account.isLocked else { throw CeremonyError(.locked) }
        // One that is made here by chance is not what anybody tries first, whatever it looks like.
        if let pin { try self.check(pin: pin) }
        let chosen = pin ?? self.newPin()
        let now = self.time.now()
        let invitation = try await self.invitation(of: accountID, named: invite, at: now)
        // Accepted or over since it was looked at: what came of it is its person's own by now.
        guard invitation != nil || !isAnew else { throw CeremonyError(.conflict) }
        // Judged again in the step that adds it; here it spares a key that would be of no use.
        if let limit, try await self.store.offers(accountID: accountID, at: now).count >= limit {
            throw CeremonyError(.conflict)
        }
        let left = invitation.map { $0.expiresAt - now }
        let invite = invite ?? invitation?.id
        let expiresAt = now + (lifetime ?? left ?? self.limits.activationLifetime)
        let secret = SecretBytes(self.random.bytes(ProcessCode.secretBytes))
        let parameters = try PinParameters()
        let id = invite ?? self.newIdentifier()
        let key = try await self.key(pin: SecretBytes(Array(chosen.utf8)), secret, parameters, activation: id)
        let digest = ProcessCode.digest(ofClaim: ProcessCode.claim(of: secret))
        let shown = name.map { DisplayText.name($0, length: self.limits.nameCharacters) }
        do {
            try await self.store.offer(
                PendingActivationRecord(
                    id: id, accountID: accountID, claimDigest: digest, pinKey: key,
                    pinParameters: String(decoding: JSON.object(parameters.json).serialized, as: UTF8.self),
                    name: shown.flatMap { $0.isEmpty ? nil : $0 }, inviteID: invite, challenge: self.random.token(),
                    createdAt: now, expiresAt: expiresAt), replacing: isAnew, limit: limit,
                audit: AuditEvent(.activationOffered, at: now, accountID: accountID, actor: `operator`, detail: id))
        } catch let error as StoreError where error.code == .conflict {
            throw CeremonyError(.conflict)
        }
        let signed = try self.keys.sign(.activation, id: id, claimDigest: digest, expiresAt: expiresAt, at: now)
        return ActivationOffer(
            id: id, code: ProcessCode.text(signed: signed, secret: secret), pin: pin == nil ? chosen : nil,
            expiresAt: expiresAt)
    }

    /// Holds a PIN that somebody has chosen against what PINs are.
    ///
    /// Throws `CeremonyError`: `invalidRequest` where the PIN has something else than digits or another number of them, and
    /// `pinTooSimple`.
    public func check(pin: String) throws(CeremonyError) {
        guard self.configuration.identities.pinLength.contains(pin.utf8.count),
            pin.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { throw CeremonyError(.invalidRequest, "a PIN that is no PIN") }
        guard !SimplePin.isSimple(pin.utf8) else { throw CeremonyError(.pinTooSimple) }
    }

    /// The invitation that an account's activation comes with.
    private func invitation(of accountID: String, named name: String?, at now: Timestamp) async throws -> InviteRecord?
    {
        guard name == nil, let invitation = try await self.store.invite(provisionalAccountID: accountID),
            invitation.state == .open, now < invitation.expiresAt
        else { return nil }
        return invitation
    }

    /// Six digits, or the number next to it that PINs may have.
    private func newPin() -> String {
        let length = self.configuration.identities.pinLength
        return (0..<min(max(6, length.lowerBound), length.upperBound))
            .map { _ in String(self.random.number(below: 10)) }.joined()
    }

    /// The public key of a PIN. It takes 60 ms and 32 MiB, on a thread that nobody else waits for.
    private func key(pin: SecretBytes, _ secret: SecretBytes, _ parameters: PinParameters, activation: String)
        async throws -> [UInt8]
    {
        let context = PinScheme.Context(server: self.configuration.issuer, activation: activation, version: 0)
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global(qos: .utility).async {
                continuation.resume(
                    with: Result {
                        let key = try parameters.scheme.key(
                            pin: pin, deviceSecret: secret, parameters: parameters, context: context)
                        return Array(key.publicKey.compressedRepresentation)
                    })
            }
        }
    }
}
