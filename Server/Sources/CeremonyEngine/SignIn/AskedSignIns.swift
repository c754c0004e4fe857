import Records
import Sealing
import Settings
import _Primitives

/// A sign-in in which the devices of a named person ask.
public struct AskedSignIn: Sendable {
    /// The page of the sign-in, the same for every name.
    public let view: SignInView
    /// The messages to the person's devices.
    public let announcement: DeviceAnnouncement?
}

/// Sign-ins that begin with a name at the sign-in page: the page shows a number, the devices of the person ask, and the
/// person types the number on one of them (decision 126).
///
/// The page shows the number and the wait alone until its time is over, or until a phone has approved. A name without
/// an account, a locked account, a person without devices, a requester that rests, a used budget, a denial, a wrong
/// number and a phone that has taken the request up all look the same.
public struct AskedSignIns: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any CeremonyStore
    let signIns: SignIns
    let announcements: DeviceAnnouncements

    /// Has the devices of a person ask, and returns the page with the number.
    ///
    /// The call ends the codes and the number that the request had before. A sign-in that was approved goes on instead:
    /// its state is returned.
    ///
    /// - Parameters:
    ///   - account: The identifier of the named account; `nil` for a name that nobody has. Then the page waits for a
    ///     phone that nobody has. The caller does the same work for both.
    ///   - reference: The request behind the sign-in.
    ///   - browser: The value of the browser's cookie.
    ///   - source: The network of the browser, which has a budget of codes. Together with the client the network is the
    ///     requester by which denials rest and pushes are counted.
    ///
    /// Throws `wrongBrowser` if another browser has begun the sign-in, `tooManyRequests`, and `forbidden` at a service
    /// of personalised identities: the sessions of identities have no number.
    public func ask(
        _ account: String?, reference: String, browser: String, requester: SignInRequester, source: String
    ) async throws -> AskedSignIn {
        let now = self.time.now()
        if let view = try await self.signIns.approved(reference: reference, browser: browser, at: now) {
            return AskedSignIn(view: view, announcement: nil)
        }
        guard try await !self.signIns.logins.isService(requester.client, origin: requester.origin) else {
            throw CeremonyError(.forbidden, "a service of personalised identities, whose sessions have no number")
        }
        try self.signIns.spendCodes(of: source, at: now)
        let ceremony = CeremonyRecord(
            id: self.newIdentifier(), kind: .authentication, clientID: self.requester(requester.client, source),
            reference: reference, browserDigest: Sealing.digest(ofSecret: browser),
            accountID: account ?? self.newIdentifier(), createdAt: now, expiresAt: now + self.limits.pushLifetime,
            detail: self.signIns.detail(
                of: requester, browser: browser, number: self.random.digits(Limits.Fixed.matchedDigits)))
        do {
            try await self.store.createCeremony(ceremony, tokens: [], audit: nil)
        } catch let error as StoreError where error.code == .conflict {
            throw CeremonyError(.wrongBrowser)
        }
        return AskedSignIn(
            view: SignInView(ceremony, self.signIns.state(of: ceremony, at: now)),
            announcement: self.announcements.begin(ceremony))
    }

    /// Returns the requester of a browser: the client, and a code of client and network. The store has no network
    /// address of the person, and the requests of two clients from one network cannot be joined.
    private func requester(_ client: String, _ source: String) -> String {
        let code = self.sealing.code("\(client) \(source)", purpose: .askingNetwork).prefix(16)
        return "\(client) \(Base64URL.encode(code))"
    }
}

extension SealingPurpose {
    fileprivate static let askingNetwork = SealingPurpose("network of a browser that asks")
}
