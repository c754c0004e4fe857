import Ceremony
public import Records
import Sealing
import Settings
import UAF
import UAFRelyingParty
public import _Primitives

/// The browser that wants to sign in, as the phone shows the browser.
public struct SignInRequester: Sendable, Equatable {
    /// The relying party's identifier. No phone shows the identifier; the server uses it to find the way back.
    public var client: String
    /// The relying party's name, as the phone shows the name.
    public var service: String
    /// The relying party's web origin.
    public var origin: String?
    /// The browser's network address.
    public var address: String?
    /// The browser and its system, in words.
    public var browser: String?
    /// The text that the person agrees to beside signing in. The phone shows the text, and its key signs the text.
    public var agreement: String?

    /// Creates a requester.
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

/// A sign-in that its browser resumes.
public struct ResumedSignIn: Sendable, Equatable {
    /// The reference of the request behind the sign-in.
    public let reference: String
    /// The relying party's identifier; `nil` for a sign-in that an earlier version began, and for a change.
    public let client: String?
    /// `true` if the ceremony is not a sign-in, but a confirmed change of an account (``ChangeConfirmations``).
    public let isChange: Bool
}

/// The state on the waiting page. The raw values are the words of the page's channel.
public enum SignInState: String, Sendable, CaseIterable {
    /// The codes can be used.
    case waiting
    /// A phone asks its owner.
    case claimed
    /// The person has signed in, and the browser must complete the sign-in.
    case approved
    /// The sign-in was approved on the browser's own device. The link that the phone opens completes the sign-in.
    case approvedOnDevice = "approved-on-device"
    /// Another page of the same browser has completed the sign-in.
    case completed
    /// The person has refused, or the app of a personalised identity has given up.
    case denied
    /// The time is over, the sign-in was cancelled, or no browser has completed an approval in time.
    case expired
    case failed

    /// `true` if the page's channel ends with the state. Only `approved` can still become `completed` or `expired`.
    public var isFinal: Bool {
        switch self {
        case .waiting, .claimed, .approvedOnDevice: false
        case .approved, .completed, .denied, .expired, .failed: true
        }
    }
}

/// The three codes from the page to a phone. The codes are shown once: the server keeps only digests.
public struct SignInCodes: Sendable, Equatable {
    /// The link for a phone that shows the page itself.
    public let link: String
    /// The content of the QR code: the payload alone, with another token.
    ///
    /// The content is never a link. An attacker could copy a link from their own page and send the link to a person to
    /// tap, and no browser is bound to the link.
    public let qrContent: String
    /// The letters to type, with a dash; empty if a phone needs more data than a person can type.
    public let typedCode: String
    /// The time until which the codes can be used.
    public let expiresAt: Timestamp
}

/// The content of the sign-in page.
public struct SignInView: Sendable, Equatable {
    /// The state.
    public let state: SignInState
    /// New codes while the state is `waiting`. The codes shown before are no longer valid.
    public let codes: SignInCodes?
    /// The number that a named person types on the phone, while the state is `waiting`; `nil` for a page with codes.
    public let number: String?
    /// `true` if the person was named, and shown no code (``AskedSignIns``).
    public let isAskedByName: Bool
    /// The end of the present state. Without meaning in a state that ends the page's channel.
    public let expiresAt: Timestamp
    /// The codes of the phone, and of the server's answer, at the end; for the log.
    public let statusCodes: StatusCodes

    /// The status codes of an end, as far as known.
    public struct StatusCodes: Sendable, Equatable {
        /// The server's code for the phone.
        public let uaf: Int?
        /// The client's own code.
        public let client: Int?
        /// The authenticator's code.
        public let asm: Int?
    }

    init(_ record: CeremonyRecord, _ state: SignInState, codes: SignInCodes? = nil) {
        self.state = state
        self.codes = codes
        self.isAskedByName = record.isAskedByName
        self.number = record.isAskedByName && state == .waiting ? record.detail.number : nil
        self.expiresAt = record.expiresAt
        self.statusCodes = StatusCodes(
            uaf: record.uafStatusCode, client: record.clientErrorCode, asm: record.asmStatusCode)
    }
}

extension SignInRequester {
    /// Creates the requester of a sign-in from its record.
    fileprivate init?(of detail: CeremonyDetail) {
        guard let client = detail.client, let service = detail.service else { return nil }
        self.init(
            client: client, service: service, origin: detail.origin, address: detail.address, browser: detail.browser,
            agreement: detail.content.map { String(decoding: $0, as: UTF8.self) })
    }
}

/// The person who signed in, and the circumstances, for the provider.
public struct SignInOutcome: Sendable, Equatable {
    /// The account of the person.
    public let accountID: String
    /// The time when the phone's answer was accepted.
    public let authTime: Timestamp
    /// The RFC 8176 names of the methods.
    public let amr: [String]
    /// The assurance level.
    public let acr: String
    /// The browser and its system in words, as the phone showed them.
    public let browser: String?
    /// The browser's network address, as the phone showed it.
    public let address: String?
    /// The device that answered.
    public let deviceID: String?
    /// The SHA-256 of the text that the phone showed and signed; `nil` without a text.
    public let contentHash: [UInt8]?
    /// The service of personalised identities for which the person signed in, and the role; `nil` for every other
    /// sign-in.
    public let role: RoleAtService?
}

/// The sign-in page: codes, states, and the completion in the browser that began the sign-in.
public struct SignIns: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any CeremonyStore
    let hub: CeremonyHub
    let budgets: Budgets
    let endings: Endings
    let logins: LoginCodes

    private static let signInChannels: Set = [DispatchChannel.qrCode, .link, .typed]

    /// Shows the sign-in page of a request.
    ///
    /// The call begins a ceremony, renews the codes of a waiting ceremony, shows the state of a running ceremony, or
    /// begins again after an end without a sign-in.
    ///
    /// `reference` names the request behind the sign-in, `browser` is the value of the browser's cookie; `source` has a
    /// budget of codes. At a service of personalised identities the sign-in is a session of an identity, and only their
    /// apps read its codes.
    ///
    /// Throws `wrongBrowser` if another browser has begun the sign-in, `tooManyRequests`, and `forbidden` if the
    /// service accepts no sign-ins now, or none from this origin.
    public func begin(reference: String, browser: String, requester: SignInRequester, source: String) async throws
        -> SignInView
    {
        let now = self.time.now()
        if let record = try await self.signIn(reference, browser) {
            let state = self.state(of: record, at: now)
            switch state {
            // The person wants a code in place of the number: the new ceremony ends the old. The work does not depend on
            // the phone, so the overdue ceremony gets no entry of its own.
            case .waiting where record.isAskedByName, .expired where record.isAskedByName: break
            case .waiting: return try await self.renew(record, source: source, at: now)
            case .claimed, .approvedOnDevice, .approved, .completed:
                return SignInView(record, state)
            case .denied, .expired, .failed:
                // The new ceremony also ends the old, but without the entries that an end must leave.
                if record.phase != .ended { try await self.endings.expire(record.id, at: now) }
            }
        }
        let isIdentity = try await self.logins.isService(requester.client, origin: requester.origin)
        try self.spendCodes(of: source, at: now)
        let ceremony = CeremonyRecord(
            id: self.newIdentifier(), kind: isIdentity ? .identity : .authentication, reference: reference,
            browserDigest: Sealing.digest(ofSecret: browser), createdAt: now,
            expiresAt: now + self.limits.ceremonyLifetime, detail: self.detail(of: requester, browser: browser))
        let codes = try self.codes(of: ceremony, expiresAt: now + self.limits.dispatchLifetime)
        do {
            try await self.store.createCeremony(ceremony, tokens: codes.tokens, audit: nil)
        } catch let error as StoreError where error.code == .conflict {
            throw CeremonyError(.wrongBrowser)
        }
        return SignInView(ceremony, .waiting, codes: codes.shown)
    }

    /// Returns the details of a sign-in, as the phone shows them. `number` is the number that the page shows in place
    /// of codes.
    func detail(of requester: SignInRequester, browser: String, number: String? = nil) -> CeremonyDetail {
        CeremonyDetail(
            service: requester.service, origin: requester.origin, address: requester.address,
            browser: requester.browser, browserID: self.browserID(of: browser),
            contentType: requester.agreement.map { _ in Transaction.ContentType.textPlain.rawValue },
            content: requester.agreement.map { Array($0.utf8) }, client: requester.client, number: number)
    }

    /// Returns the page of a sign-in that a phone has approved; `nil` for every other sign-in. Throws `wrongBrowser`.
    func approved(reference: String, browser: String, at now: Timestamp) async throws -> SignInView? {
        guard let record = try await self.signIn(reference, browser) else { return nil }
        let state = self.state(of: record, at: now)
        return [.approved, .approvedOnDevice, .completed].contains(state) ? SignInView(record, state) : nil
    }

    /// Returns new codes of a sign-in, and the records of the codes.
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

    /// Returns the present page. A waiting page gets new codes, of which `source` has a budget, and the earlier codes
    /// become invalid. A page with a number keeps the number.
    ///
    /// If the app of a personalised identity has aborted the sign-in, the sign-in begins again with a new code. The
    /// person at the page can then use another phone, or the same phone in its other role.
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
                // No person has asked for another code: the page shows the state of the present code.
                return SignInView(record, state)
            }
        }
        guard state == .waiting, !record.isAskedByName else { return SignInView(record, state) }
        return try await self.renew(record, source: source, at: now)
    }

    func spendCodes(of source: String, at now: Timestamp) throws {
        try CeremonyError.throwShortage(self.budgets.codes.spend(source, at: now))
    }

    /// Returns the identifier of a browser. The identifier is the same for the same browser at this server, and does
    /// not reveal the browser's cookie.
    func browserID(of browser: String) -> String {
        Base64URL.encode(self.sealing.code(browser, purpose: .browserIdentifier).prefix(16))
    }

    private func renew(_ record: CeremonyRecord, source: String, at now: Timestamp) async throws -> SignInView {
        try self.spendCodes(of: source, at: now)
        let codes = try self.codes(
            of: record, expiresAt: min(now + self.limits.dispatchLifetime, record.expiresAt))
        let renewed = try await self.store.change(.id(record.id)) { record in
            // If a phone was faster than the page, the page shows the phone's state.
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

    /// Returns the state alone. Throws `notFound` and `wrongBrowser`.
    public func state(reference: String, browser: String) async throws -> SignInState {
        self.state(of: try await self.requiredSignIn(reference, browser), at: self.time.now())
    }

    /// Returns the states from the present to the last, for the browser that began. Throws `notFound` and
    /// `wrongBrowser`.
    public func events(reference: String, browser: String) async throws -> CeremonyEvents<SignInState> {
        let id = try await self.requiredSignIn(reference, browser).id
        return CeremonyEvents(hub: self.hub, topic: .ceremony(id), time: self.time) {
            guard let record = try await self.store.ceremony(.id(id)) else { return (.expired, true, nil) }
            let state = self.state(of: record, at: self.time.now())
            // A success that waits for its browser expires by itself, too.
            let end = record.phase == .ended ? record.changedAt + self.limits.outcomeLifetime : record.expiresAt
            let isAsking = record.isAskedByName && !state.isFinal
            return (state, state.isFinal, isAsking ? record.createdAt + self.limits.pushLifetime : end)
        }
    }

    /// Takes the continuation that the phone opened after an approval by link, and returns the sign-in for completion.
    ///
    /// A continuation works once, and only in the browser that began. A visit of another browser completes and spends
    /// nothing: the app may have opened another browser than the browser with the link, and the browser that began can
    /// still continue. The audit trail has the first such visit of a sign-in.
    ///
    /// `address` is the visiting browser's network address. Throws `notFound`, and `wrongBrowser` with the service and
    /// the browser that began.
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
        self.hub.wake(.ceremony(record.id))
        return ResumedSignIn(
            reference: reference, client: record.detail.client, isChange: record.detail.change != nil)
    }

    /// Takes the outcome of a sign-in in the browser that began; `nil` if there is no outcome, or no longer.
    ///
    /// The first call leaves a notice on the person's devices. Later the same browser gets the same outcome again, as
    /// long as the record is kept: if no session could be made, the browser can come back. The caller makes sessions,
    /// and must make only one session of an outcome. `client` is the service's identifier, for the audit trail.
    /// `askedByName` chooses between a sign-in by a code and a sign-in that began with a name: a service may take one
    /// way and not the other. Throws `wrongBrowser`.
    public func consume(
        reference: String, browser: String, client: String, askedByName: Bool = false
    ) async throws -> SignInOutcome? {
        let now = self.time.now()
        let digest = Sealing.digest(ofSecret: browser)
        let noticeID = self.newIdentifier()
        do {
            let record = try await self.store.change(.reference(reference)) { record in
                guard constantTimeEqual(digest, record.browserDigest ?? []) else { throw CeremonyError(.wrongBrowser) }
                guard record.outcome == .succeeded, record.isAskedByName == askedByName,
                    let accountID = record.accountID
                else { throw RefusedEvent(refusal: .over) }
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
            // Other pages of this browser may be watching.
            self.hub.wake(.ceremony(record.id))
            return SignInOutcome(
                accountID: accountID, authTime: record.changedAt, amr: record.methods, acr: record.assurance,
                browser: record.detail.browser, address: record.detail.address, deviceID: record.deviceID,
                contentHash: record.contentHash, role: try record.roleAtService())
        } catch is RefusedEvent {
            return nil
        }
    }

    /// Returns the service of a sign-in that another page of this browser has completed, so that this page can say so;
    /// `nil` if there is none, and for every other browser.
    public func completedService(reference: String, browser: String) async throws -> String? {
        guard let record = try await self.store.ceremony(.reference(reference)),
            constantTimeEqual(Sealing.digest(ofSecret: browser), record.browserDigest ?? []),
            self.state(of: record, at: self.time.now()) == .completed
        else { return nil }
        return record.detail.service
    }

    /// Cancels a sign-in. An ended sign-in stays as it is. Throws `notFound` and `wrongBrowser`.
    ///
    /// The sign-in of a named person is cancelled beside the answer: otherwise the time of the answer would say if a
    /// phone has ended the sign-in before.
    public func cancel(reference: String, browser: String) async throws {
        let now = self.time.now()
        let record = try await self.requiredSignIn(reference, browser)
        guard record.isAskedByName else {
            return try await self.endings.end(record.id, .cancel, audit: .cancelled, at: now)
        }
        Task { try? await self.endings.end(record.id, .cancel, audit: .cancelled, at: now) }
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
        // The page of a named person shows nothing of the phone but its approval, until the page's time is over.
        if record.isAskedByName, record.outcome != .succeeded, record.outcome != .cancelled {
            return now < record.createdAt + self.limits.pushLifetime ? .waiting : .expired
        }
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
            // After a link, the page that the phone opened completes the sign-in, and not the page that has waited.
            return record.channel?.canBeSentOn == true ? .approvedOnDevice : .approved
        case .denied: return .denied
        case .expired, .cancelled: return .expired
        case .failed, nil: return .failed
        }
    }
}
