import Ceremony
import Crypto
import Dispatch
import Records
import Settings
public import _Primitives

/// An offer to personalise an app, as given out once.
public struct ActivationOffer: Sendable, Equatable {
    /// The identifier of the future activation.
    public let id: String
    /// The text of the code, for a QR code or a link.
    public let code: String
    /// The PIN, which travels another way than the code; `nil` if the requester has chosen the PIN.
    public let pin: String?
    /// The time until which the code can be used.
    public let expiresAt: Timestamp
}

/// Offers of activations by operators, by invitations and by people on pages. The code is made here, and the PIN unless
/// a person has chosen the PIN. The stored data reveals neither.
public struct ActivationOffers: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any AccountStore & IdentityStore & InviteStore
    let keys: ManagerKeys
    let budgets: Budgets

    /// Offers an activation to a person on a page, with a PIN that the person has chosen.
    ///
    /// Throws as ``offer(accountID:pin:name:invite:lifetime:isAnew:limit:by:)``, and `tooManyRequests`: `source` has a
    /// budget of codes. An account has at most ``Limits/openOffersPerAccount`` at a time; `isAnew` replaces a code, and
    /// is not bounded.
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
    ///   - pin: The PIN, with an allowed number of digits; `nil` makes a PIN.
    ///   - name: The planned name of the device.
    ///   - invite: The invitation of the offer: the activation has its identifier. The default is the open invitation
    ///     that the account was made for, if any.
    ///   - lifetime: The lifetime of the code. The default is the invitation's remaining time, or else the lifetime of
    ///     other enrolments.
    ///   - isAnew: `true` to replace an unused offer of the invitation.
    ///   - limit: The maximum number of codes of the account at a time, including this code; `nil` is no bound.
    ///   - operator: The name for the audit trail; `nil` if the person asks.
    ///
    /// Throws `CeremonyError`: `notFound` for the account, `locked`, `invalidRequest` and `pinTooSimple` for the PIN;
    /// `conflict` if the invitation has an activation, or an offer without `isAnew`; if `isAnew` is set and the account
    /// has no open invitation; or if the account has the maximum number of codes.
    public func offer(
        accountID: String, pin: String? = nil, name: String? = nil, invite: String? = nil,
        lifetime: Duration? = nil, isAnew: Bool = false, limit: Int? = nil, by operator: String?
    ) async throws -> ActivationOffer {
        guard let account = try await self.store.account(id: accountID) else { throw CeremonyError(.notFound) }
        guard !account.isLocked else { throw CeremonyError(.locked) }
        // A random PIN needs no check: an attacker does not try a random PIN first, even if the PIN looks simple.
        if let pin { try self.check(pin: pin) }
        let chosen = pin ?? self.newPin()
        let now = self.time.now()
        let invitation = try await self.invitation(of: accountID, named: invite, at: now)
        // The invitation was accepted or ended since the page was shown. Its result now belongs to the person alone.
        guard invitation != nil || !isAnew else { throw CeremonyError(.conflict) }
        // The step that adds the offer checks the limit again. The check here avoids a useless computation of the key.
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
                OfferRecord(
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

    /// Checks a PIN that a person has chosen.
    ///
    /// Throws `CeremonyError`: `invalidRequest` if the PIN has other characters than digits or a wrong length, and
    /// `pinTooSimple`.
    public func check(pin: String) throws(CeremonyError) {
        guard self.configuration.identities.pinLength.contains(pin.utf8.count),
            pin.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { throw CeremonyError(.invalidRequest, "a PIN that is no PIN") }
        guard PinRule.simple.first(refusing: pin.utf8) == nil else { throw CeremonyError(.pinTooSimple) }
    }

    /// Returns the open invitation that an account was made for; `nil` if there is none, and for a named invitation.
    private func invitation(of accountID: String, named name: String?, at now: Timestamp) async throws -> InviteRecord?
    {
        guard name == nil, let invitation = try await self.store.invite(provisionalAccountID: accountID),
            invitation.state == .open, now < invitation.expiresAt
        else { return nil }
        return invitation
    }

    /// Returns a random PIN of six digits, or of the nearest allowed length.
    private func newPin() -> String {
        let length = self.configuration.identities.pinLength
        return (0..<min(max(6, length.lowerBound), length.upperBound))
            .map { _ in String(self.random.number(below: 10)) }.joined()
    }

    /// Returns the public key of a PIN. The computation takes 60 ms and 32 MiB, on a thread that no other work waits
    /// for.
    private func key(pin: SecretBytes, _ secret: SecretBytes, _ parameters: PinParameters, activation: String)
        async throws -> [UInt8]
    {
        let context = PinScheme.Context(server: self.configuration.issuer, activation: activation, version: 0)
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global(qos: .utility).async {
                continuation.resume(
                    with: Result {
                        let key = try parameters.scheme.key(
                            pin: pin, phoneHalf: secret, parameters: parameters, context: context)
                        return Array(key.publicKey.compressedRepresentation)
                    })
            }
        }
    }
}
