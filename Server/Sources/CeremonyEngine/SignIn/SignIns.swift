import Ceremony
public import Store
import UAF
import UAFRelyingParty
public import _Primitives

/// Which browser wants to sign in, as the phone shows it.
public struct SignInRequester: Sendable, Equatable {
    /// The relying party's identifier. No phone shows it: by it the way back is found.
    public var client: String
    /// The relying party's name.
    public var service: String
    /// The relying party's web origin.
    public var origin: String?
    /// The browser's network address.
    public var address: String?
    /// The browser and its system, in words.
    public var browser: String?
    /// What the person is to agree to, beside signing in: the phone shows it, and its key signs it.
    public var agreement: String?

    /// Describes a browser.
    public init(
        client: String, service: String, origin: String?, address: String?, browser: String?, agreement: String? = nil
    ) {
        self.agreement = agreement
        self.client = client
        self.service = service
        self.origin = origin
        self.address = address
        self.browser = browser
    }
}

/// A sign-in that its browser takes up again.
public struct ResumedSignIn: Sendable, Equatable {
    /// What is signed in to.
    public let reference: String
    /// The relying party's identifier; `nil` where the sign-in was begun by an earlier version, and for a change.
    public let client: String?
    /// Whether it is no sign-in, but a change of an account that was confirmed (``ChangeConfirmations``).
    public let isChange: Bool
}

/// What the waiting page says. The raw values are the words of its channel.
public enum SignInState: String, Sendable, CaseIterable {
    /// The codes can be used.
    case waiting
    /// A phone asks its owner.
    case claimed
    /// Signed in; the browser must complete it.
    case approved
    /// Approved on the browser's own device; the link that the phone opens completes it.
    case approvedOnDevice = "approved-on-device"
    /// Another page of the same browser has completed it.
    case completed
    case denied
    case expired
    case failed

    /// Whether nothing follows.
    public var isFinal: Bool {
        switch self {
        case .waiting, .claimed, .approvedOnDevice: false
        case .approved, .completed, .denied, .expired, .failed: true
        }
    }
}

/// The three ways from the page to a phone. Shown once: the server keeps digests.
public struct SignInCodes: Sendable, Equatable {
    /// For a phone that shows the page itself.
    public let link: String
    /// What the QR code carries: the payload alone, with another token. Never a link: somebody could read it off their
    /// own page and send it to a person to tap, and no browser is bound to it.
    public let qrContent: String
    /// Letters to type, with a dash; empty where there are none, because a phone needs more than can be typed.
    public let typedCode: String
    /// Until when they can be used.
    public let expiresAt: Timestamp
}

/// What the page shows.
public struct SignInView: Sendable, Equatable {
    /// What the page says.
    public let state: SignInState
    /// New codes while the state is `waiting`; those shown before are dead.
    public let codes: SignInCodes?
    /// When the present state is over.
    public let expiresAt: Timestamp
    /// What the phone, or the server about its answer, said when it ended; for the log.
    public let statusCodes: StatusCodes

    /// The codes of an end, as far as there are any.
    public struct StatusCodes: Sendable, Equatable {
        /// What the server answered the phone.
        public let uaf: Int?
        /// What the client said of itself.
        public let client: Int?
        /// What its authenticator said.
        public let asm: Int?
    }

    init(_ record: CeremonyRecord, _ state: SignInState, codes: SignInCodes? = nil) {
        self.state = state
        self.codes = codes
        self.expiresAt = record.expiresAt
        self.statusCodes = StatusCodes(
            uaf: record.uafStatusCode, client: record.clientErrorCode, asm: record.asmStatusCode)
    }
}

extension SignInRequester {
    /// Who has begun a sign-in, as it was written down.
    fileprivate init?(of detail: CeremonyDetail) {
        guard let client = detail.client, let service = detail.service else { return nil }
        self.init(
            client: client, service: service, origin: detail.origin, address: detail.address, browser: detail.browser,
            agreement: detail.content.map { String(decoding: $0, as: UTF8.self) })
    }
}

/// Who signed in, for the provider that wanted to know.
public struct SignInOutcome: Sendable, Equatable {
    /// Who signed in.
    public let accountID: String
    /// When the phone's answer was accepted.
    public let authTime: Timestamp
    /// RFC 8176 names of what was used.
    public let amr: [String]
    /// The assurance that was reached.
    public let acr: String
    /// The browser and its system in words, as the phone showed them.
    public let browser: String?
    /// The browser's network address, as the phone showed it.
    public let address: String?
    /// The device that answered.
    public let deviceID: String?
    /// The SHA-256 of what the phone showed beside and signed, where there was something.
    public let contentHash: [UInt8]?
    /// The service of personalised identities that it was for, and the role; `nil` for every other sign-in.
    public let role: RoleAtService?
}

/// The sign-in page: its codes, its states, and what becomes of it in the browser that began.
public struct SignIns: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any CeremonyStore
    let hub: CeremonyHub
    let budgets: Budgets
    let endings: Endings
    let logins: LoginCodes

    private static let signInChannels: Set = [CeremonyRecord.Channel.qrCode, .link, .typed]

    /// Shows the sign-in page of a request: begins a ceremony, renews the codes of one that waits, shows the state of
    /// one that runs, or begins anew after an end that signed nobody in.
    ///
    /// `reference` names what is signed in to, `browser` is the value of the browser's cookie; `source` has a budget of
    /// codes. At a service of personalised identities it is a session of one, whose codes only their apps read.
    ///
    /// Throws `wrongBrowser` where another browser has begun it, `tooManyRequests`, and `forbidden` where the service takes
    /// nobody now, or not from there.
    public func begin(reference: String, browser: String, requester: SignInRequester, source: String) async throws
        -> SignInView
    {
        let now = self.time.now()
        if let record = try await self.signIn(reference, browser) {
            let state = self.state(of: record, at: now)
            switch state {
            case .waiting: return try await self.renew(record, source: source, at: now)
            case .claimed, .approvedOnDevice, .approved, .completed:
                return SignInView(record, state)
            case .denied, .expired, .failed:
                // What takes its place ends it, too, but knows nothing of what it has to leave behind.
                if record.phase != .ended { try await self.endings.expire(record.id, at: now) }
            }
        }
        let isIdentity = try await self.logins.isService(requester.client, origin: requester.origin)
        try self.spendCodes(of: source, at: now)
        let ceremony = CeremonyRecord(
            id: self.newIdentifier(), kind: isIdentity ? .identity : .authentication, reference: reference,
            browserDigest: Sealing.digest(ofSecret: browser), createdAt: now,
            expiresAt: now + self.limits.ceremonyLifetime,
            detail: CeremonyDetail(
                service: requester.service, origin: requester.origin, address: requester.address,
                browser: requester.browser, browserID: self.browserID(of: browser),
                contentType: requester.agreement.map { _ in Transaction.ContentType.textPlain.rawValue },
                content: requester.agreement.map { Array($0.utf8) }, client: requester.client))
        let codes = try self.codes(of: ceremony, expiresAt: now + self.limits.dispatchLifetime)
        do {
            try await self.store.createCeremony(ceremony, tokens: codes.tokens, audit: nil)
        } catch let error as StoreError where error.code == .conflict {
            throw CeremonyError(.wrongBrowser)
        }
        return SignInView(ceremony, .waiting, codes: codes.shown)
    }

    /// New codes of a sign-in, and what is kept of them.
    private func codes(of ceremony: CeremonyRecord, expiresAt: Timestamp) throws -> (
        tokens: [DispatchTokenRecord], shown: SignInCodes
    ) {
        guard ceremony.kind != .identity else {
            let codes = try self.logins.codes(of: ceremony.id, expiresAt: expiresAt)
            return (
                codes.tokens,
                SignInCodes(link: codes.link, qrContent: codes.qrContent, typedCode: "", expiresAt: expiresAt)
            )
        }
        let codes = DispatchCodes(expiresAt: expiresAt, random: self.random, limits: self.limits)
        let payload = try self.configuration.payload(token: codes.qrToken, kind: ceremony.kind)
        return (
            codes.records(Self.signInChannels, sealing: self.sealing),
            SignInCodes(
                link: try self.configuration.link(token: codes.linkToken, kind: ceremony.kind),
                // An issuer with a path has no short form.
                qrContent: payload.compact ?? payload.base64URLEncoded, typedCode: codes.typedCode.shown,
                expiresAt: expiresAt)
        )
    }

    /// The page as it is now. While it waits it gets new codes, of which `source` has a budget, and the ones before
    /// die. Where the app of a personalised identity has given the sign-in up, it begins anew with a code for whoever
    /// sits before the page: another phone, or the same one in its other role.
    ///
    /// Throws `notFound`, `wrongBrowser` and `tooManyRequests`.
    public func renew(reference: String, browser: String, source: String) async throws -> SignInView {
        let now = self.time.now()
        let record = try await self.requiredSignIn(reference, browser)
        let state = self.state(of: record, at: now)
        if state == .denied, record.kind == .identity, let requester = SignInRequester(of: record.detail) {
            do {
                return try await self.begin(
                    reference: reference, browser: browser, requester: requester, source: source)
            } catch let error as CeremonyError where [.tooManyRequests, .forbidden].contains(error.code) {
                // Nobody has asked for another code: the page says what has become of this one.
                return SignInView(record, state)
            }
        }
        guard state == .waiting else { return SignInView(record, state) }
        return try await self.renew(record, source: source, at: now)
    }

    func spendCodes(of source: String, at now: Timestamp) throws {
        try CeremonyError.throwShortage(self.budgets.codes.spend(source, at: now))
    }

    /// The same for the same browser at this server, and nobody can make a browser's cookie of it.
    func browserID(of browser: String) -> String {
        Base64URL.encode(self.sealing.code(browser, purpose: .browserIdentifier).prefix(16))
    }

    private func renew(_ record: CeremonyRecord, source: String, at now: Timestamp) async throws -> SignInView {
        try self.spendCodes(of: source, at: now)
        let codes = try self.codes(
            of: record, expiresAt: min(now + self.limits.dispatchLifetime, record.expiresAt))
        let renewed = try await self.store.change(.id(record.id)) { record in
            // A phone may have been quicker than the page: then its state is shown.
            guard record.phase == .created, now < record.expiresAt else { return CeremonyChange() }
            record.changedAt = now
            var change = CeremonyChange()
            change.newTokens = codes.tokens
            change.tokensKeptSince = now - self.limits.replacedCodeRetention
            return change
        }
        guard let renewed else { throw CeremonyError(.notFound) }
        let state = self.state(of: renewed, at: now)
        guard state == .waiting else { return SignInView(renewed, state) }
        return SignInView(renewed, .waiting, codes: codes.shown)
    }

    /// The state alone. Throws `notFound` and `wrongBrowser`.
    public func state(reference: String, browser: String) async throws -> SignInState {
        self.state(of: try await self.requiredSignIn(reference, browser), at: self.time.now())
    }

    /// The states from now to the last, for the browser that began. Throws `notFound` and `wrongBrowser`.
    public func events(reference: String, browser: String) async throws -> CeremonyEvents<SignInState> {
        let id = try await self.requiredSignIn(reference, browser).id
        return CeremonyEvents(hub: self.hub, id: id, time: self.time) {
            guard let record = try await self.store.ceremony(.id(id)) else { return (.expired, true, nil) }
            let state = self.state(of: record, at: self.time.now())
            // A success that waits for its browser is over by itself, too.
            let end = record.phase == .ended ? record.changedAt + self.limits.outcomeLifetime : record.expiresAt
            return (state, state.isFinal, end)
        }
    }

    /// Takes the continuation that the phone opened after an approval by link, and returns what is to be completed.
    ///
    /// Works once, and only in the browser that began. A visit of any other browser completes and spends nothing: the app may
    /// have opened another browser than the one that shows the link, and the browser that began can still go on. The audit
    /// trail has the first such visit of a sign-in.
    ///
    /// `address` is the visiting browser's network address. Throws `notFound`, and `wrongBrowser` with the service and the
    /// browser that began.
    public func resume(code: String, browser: String?, address: String? = nil) async throws -> ResumedSignIn {
        let now = self.time.now()
        let digest = browser.map { Sealing.digest(ofSecret: $0) }
        let record: CeremonyRecord?
        do {
            record = try await self.store.change(.continuation(Sealing.digest(ofSecret: code))) { record in
                let isStartingBrowser = digest.map { constantTimeEqual($0, record.browserDigest ?? []) } ?? false
                do throws(RefusedEvent) {
                    try record.take(
                        .continueInBrowser(isStartingBrowser: isStartingBrowser), at: now, limits: self.limits)
                } catch {
                    guard error.refusal == .wrongBrowser else { throw error }
                    guard !record.isOpenedElsewhere else { return CeremonyChange() }
                    record.isOpenedElsewhere = true
                    var change = CeremonyChange()
                    change.audit = [
                        AuditEvent(
                            .wrongBrowser, at: now, accountID: record.accountID, ceremonyID: record.id,
                            address: address)
                    ]
                    return change
                }
                record.continuationDigest = nil
                return CeremonyChange()
            }
        } catch is RefusedEvent {
            throw CeremonyError(.notFound)
        }
        guard let record else { throw CeremonyError(.notFound) }
        guard record.outcome == .succeeded, let reference = record.reference else {
            throw CeremonyError(.wrongBrowser, service: record.detail.client, browser: record.detail.browser)
        }
        self.hub.wake(record.id)
        return ResumedSignIn(
            reference: reference, client: record.detail.client, isChange: record.detail.change != nil)
    }

    /// Takes up the outcome of a sign-in in the browser that began it; `nil` where there is none (any more).
    ///
    /// The first time leaves the person's devices a notice. Afterwards the same browser gets the same outcome again, as
    /// long as the record is kept: where no session could be made of it, the browser can come back. That only one
    /// session comes of it is for the caller to see to, who makes sessions. `client` is the service's identifier, for
    /// the audit trail. Throws `wrongBrowser`.
    public func consume(reference: String, browser: String, client: String) async throws -> SignInOutcome? {
        let now = self.time.now()
        let digest = Sealing.digest(ofSecret: browser)
        let noticeID = self.newIdentifier()
        do {
            let record = try await self.store.change(.reference(reference)) { record in
                guard constantTimeEqual(digest, record.browserDigest ?? []) else { throw CeremonyError(.wrongBrowser) }
                guard record.outcome == .succeeded, let accountID = record.accountID else {
                    throw RefusedEvent(refusal: .over)
                }
                if record.isConsumed { return CeremonyChange() }
                guard now < record.changedAt + self.limits.outcomeLifetime else {
                    throw RefusedEvent(refusal: .over)
                }
                record.isConsumed = true
                var change = CeremonyChange()
                let detail = AuditEvent.signInDetail(service: client, methods: record.methods)
                change.audit = [
                    AuditEvent(
                        .signedIn, at: now, accountID: accountID, ceremonyID: record.id, detail: detail,
                        address: record.detail.address)
                ]
                change.notices = [
                    NoticeRecord(
                        id: noticeID, accountID: accountID, kind: .signedIn, at: now,
                        subject: record.detail.service ?? "")
                ]
                return change
            }
            guard let record, let accountID = record.accountID else { return nil }
            // Other pages of this browser may watch.
            self.hub.wake(record.id)
            return SignInOutcome(
                accountID: accountID, authTime: record.changedAt, amr: record.methods, acr: record.assurance,
                browser: record.detail.browser, address: record.detail.address, deviceID: record.deviceID,
                contentHash: record.contentHash, role: try record.roleAtService())
        } catch is RefusedEvent {
            return nil
        }
    }

    /// The service of a sign-in that another page of this browser has completed, so that this page can say so; `nil`
    /// where there is none, and for every other browser.
    public func completedService(reference: String, browser: String) async throws -> String? {
        guard let record = try await self.store.ceremony(.reference(reference)),
            constantTimeEqual(Sealing.digest(ofSecret: browser), record.browserDigest ?? []),
            self.state(of: record, at: self.time.now()) == .completed
        else { return nil }
        return record.detail.service
    }

    /// Gives a sign-in up. One that has ended stays as it is. Throws `notFound` and `wrongBrowser`.
    public func cancel(reference: String, browser: String) async throws {
        let now = self.time.now()
        let id = try await self.requiredSignIn(reference, browser).id
        try await self.endings.end(id, .cancel, audit: .cancelled, at: now)
    }

    private func requiredSignIn(_ reference: String, _ browser: String) async throws -> CeremonyRecord {
        guard let record = try await self.signIn(reference, browser) else { throw CeremonyError(.notFound) }
        return record
    }

    private func signIn(_ reference: String, _ browser: String) async throws -> CeremonyRecord? {
        guard let record = try await self.store.ceremony(.reference(reference)) else { return nil }
        guard constantTimeEqual(Sealing.digest(ofSecret: browser), record.browserDigest ?? []) else {
            throw CeremonyError(.wrongBrowser)
        }
        return record
    }

    func state(of record: CeremonyRecord, at now: Timestamp) -> SignInState {
        if record.phase != .ended, now >= record.expiresAt { return .expired }
        switch record.phase {
        case .created: return .waiting
        case .claimed: return .claimed
        case .answering: return .approvedOnDevice
        case .ended: break
        }
        switch record.outcome {
        case .succeeded where record.isConsumed: return .completed
        case .succeeded:
            guard now < record.changedAt + self.limits.outcomeLifetime else { return .expired }
            // After a link it is the page that the phone opened which completes it, not the one that has waited.
            return record.channel?.isLink == true ? .approvedOnDevice : .approved
        case .denied: return .denied
        case .expired, .cancelled: return .expired
        case .failed, nil: return .failed
        }
    }
}
