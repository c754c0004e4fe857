import Records
import Sealing
import Settings
public import UAF
import UAFRelyingParty
public import _Primitives

/// The server's reply to an authentication answer.
public struct AuthenticationAnswer: Sendable {
    /// The body for the phone.
    public var response: ServerResponse
    /// The device that authenticated, if the app had requested the challenge itself. The caller then adds a token.
    public var authenticated: AuthenticatedDevice?
    /// The authentication, if the app had bound the challenge to a session. The caller then raises the session.
    public var bound: BoundAuthentication?
    /// `true` if the same answer was judged before: the phone had lost the judgement.
    public var isRepeated = false
}

/// An accepted authentication that was bound to a session of the same account.
public struct BoundAuthentication: Sendable, Equatable {
    /// SHA-256 of the session's secret: a session that was shown with the answer.
    public let session: [UInt8]
    /// The methods (`amr`, RFC 8176).
    public let methods: [String]
    /// The level (`acr`).
    public let level: String
    /// The time of the authentication.
    public let at: Timestamp
}

/// Judges the authentication responses of phones.
public struct AuthenticationAnswers: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any CeremonyStore & DeviceIdentityStore
    let hub: CeremonyHub
    let checks: AnswerChecks
    let endings: Endings
    let invented: InventedAccounts
    let denials: Denials
    let numbers: MatchedNumbers
    let deviceLimits: DeviceLimits
    let approvals: DeviceApprovals
    let receipts: Receipts
    let repeated: RepeatedAnswers

    /// Judges a phone's authentication response.
    ///
    /// One write step consumes the challenge or ends the ceremony, advances the counters and writes the trail. For a
    /// ceremony the keys are read before the step. A challenge that the app requested itself is the server's commonest
    /// case. The step then also finds the keys and verifies the signature. This spares a read and two changes of
    /// thread. All checks that need no keys come before either.
    ///
    /// A refused message is answered with its 14xx code. The refusal of an answer to a ceremony ends the ceremony,
    /// unless an earlier answer was accepted. The refusal of another answer leaves the challenge open, except after a
    /// counter that went back.
    ///
    /// An invented key, of a name without an account, is judged like a registered key. So only the holder of a key
    /// learns whether the key is registered.
    ///
    /// An answer to a challenge that is bound to a session counts only if `sessions`, the sessions that the sender shows
    /// and that go on, have the session. Otherwise the answer is refused with 1401, and the challenge stays open.
    ///
    /// The same answer, sent again within the challenge's life, gets the same judgement. Another message under the
    /// challenge is refused with 1491. What is worth something, a device for a token or a continuation, is given again
    /// only if `prover`, the device that proved this request, is the device whose key has signed (decision 129).
    ///
    /// `source` has a budget of refused answers. Past the budget `tooManyRequests` is thrown in place of a refusal, and
    /// keys are found and signatures verified before the write step. A right answer is always accepted. Without a
    /// source nothing is counted. All other errors come from the store.
    ///
    /// `refused` receives the reason of a refusal for the log. The phone must not see any of the text.
    public func judge(
        _ message: SendUAFResponse, source: String? = nil, sessions: [ShownSession] = [],
        provedBy prover: DeviceProofs.Prover? = nil, refused: (_ reason: String) -> Void = { _ in }
    ) async throws -> AuthenticationAnswer {
        try await self.checks.judged(from: source, \.response.statusCode) { isPastBudget in
            do {
                return try await self.verdict(
                    on: message, from: source, showing: sessions, provedBy: prover, readsFirst: isPastBudget)
            } catch let answered as Answered {
                self.checks.note(refusedFacet: answered.refusedFacet, from: source)
                refused(answered.reason)
                return AuthenticationAnswer(response: ServerResponse(answered))
            }
        }
    }

    private func verdict(
        on message: SendUAFResponse, from source: String?, showing sessions: [ShownSession],
        provedBy prover: DeviceProofs.Prover?, readsFirst: Bool
    ) async throws -> AuthenticationAnswer {
        let now = self.time.now()
        let context = try ClientContext(message.context, self.limits)
        let response: UnverifiedAuthentication
        do {
            response = try UnverifiedAuthentication(
                parsing: message.uafResponse.utf8, reading: self.relyingParty.lenientReadings)
        } catch {
            throw Answered(error)
        }
        let (data, origin) = try self.checks.openServerData(response.serverData, operation: .authentication, at: now)
        let sent = SentAnswer(
            response: response, data: data,
            code: self.repeated.code(of: message, denial: response.isClientFailure ? context.denial : nil),
            prover: prover)
        switch origin {
        case .ceremony(let id):
            if response.isClientFailure, context.denial == nil {
                self.checks.note(refusedFacet: context.refusedFacet, from: source)
                try await self.endings.end(
                    id, context.isDenial ? .deny : .fail,
                    audit: context.isDenial ? .denied : .failed, refusedFacet: context.refusedFacet,
                    clientErrorCode: context.clientErrorCode, asmStatusCode: context.asmStatusCode, at: now)
                return AuthenticationAnswer(response: ServerResponse(.ok))
            }
            do {
                if response.isClientFailure, let denial = context.denial {
                    try await self.denials.judge(
                        denial, of: id, challenge: data.challenge, context: context, code: sent.code, at: now)
                    return AuthenticationAnswer(response: ServerResponse(.ok))
                }
                return try await self.answerCeremony(id, sent, at: now)
            } catch let answered as Answered where !answered.leavesCeremony {
                try await self.endings.end(
                    id, .fail, statusCode: answered.statusCode, audit: answered.audit,
                    refusedFacet: answered.refusedFacet, clientErrorCode: context.clientErrorCode,
                    asmStatusCode: context.asmStatusCode,
                    answer: (code: sent.code, isNumberWrong: answered.isNumberWrong), at: now)
                throw answered
            }
        case .open(let policy):
            guard !response.isClientFailure else {
                try await self.checks.keep(
                    refusedFacet: context.refusedFacet, code: context.clientErrorCode, from: source, at: now)
                return AuthenticationAnswer(response: ServerResponse(.ok))
            }
            do {
                try Self.checkSession(of: data, among: sessions)
                return try await self.answerOpenChallenge(sent, policyName: policy, readsFirst: readsFirst, at: now)
            } catch let answered as Answered {
                if answered.audit == .counterWentBack { try await self.noteCounter(sent, answered, at: now) }
                try await self.checks.keep(
                    refusedFacet: answered.refusedFacet, code: Int(answered.statusCode.rawValue), from: source, at: now)
                throw answered
            }
        }
    }

    /// Refuses an answer to a challenge of a session that is not among the shown sessions.
    private static func checkSession(of data: SealedServerData, among sessions: [ShownSession]) throws {
        guard let bound = data.session else { return }
        let digest = Base64URL.decode(bound) ?? []
        let isShown = sessions.contains {
            constantTimeEqual($0.digest, digest) && $0.accountID.hasSameBytes(as: data.username ?? "")
        }
        guard isShown else { throw Answered(.unauthorized, "the challenge's session is not shown, or has ended") }
    }

    /// Writes an entry to the trail for a key whose counter went back: the key may have been cloned. The step also
    /// consumes the challenge. So each challenge leaves at most one entry, and only a holder of the key can cause an
    /// entry.
    private func noteCounter(_ sent: SentAnswer, _ answered: Answered, at now: Timestamp) async throws {
        let challenge = sent.challenge(judgedAs: answered.statusCode)
        let stored = try await self.store.verificationMaterial(
            challengeDigest: challenge.digest, keys: Self.keys(of: sent.response))
        guard let key = stored?.first??.credential else { return }
        var change = CeremonyChange()
        change.audit = [AuditEvent(.counterWentBack, at: now, accountID: key.accountID, detail: key.deviceID)]
        _ = try await self.store.answer(challenge, change: change, at: now)
    }

    /// A message of a phone, and the device that proved the message's request.
    private struct SentAnswer {
        let response: UnverifiedAuthentication
        let data: SealedServerData
        /// The code by which the same message is recognised (``RepeatedAnswers``).
        let code: [UInt8]
        let prover: DeviceProofs.Prover?

        /// Returns the challenge of the message, as answered by the message.
        func challenge(judgedAs statusCode: UAFStatusCode) -> AnsweredChallenge {
            AnsweredChallenge(
                digest: Sealing.digest(ofSecret: self.data.challenge.text), expiresAt: self.data.expiresAt,
                answer: JudgedAnswer(code: self.code, statusCode: statusCode.rawValue))
        }
    }

    /// Returns the answer to a message that has ended or approved the ceremony before; `nil` for another message.
    private func repetition(
        of sent: SentAnswer, _ ceremony: CeremonyRecord?, _ stored: [StoredCredential?]
    ) async throws -> AuthenticationAnswer? {
        guard let ceremony, RepeatedAnswers.isJudged(ceremony, by: sent.code) else { return nil }
        return try await self.repeated.authentication(
            ceremony, sent.response, stored, sent.code, provedBy: sent.prover)
    }

    /// Returns the answer of a message whose ceremony another message has ended meanwhile: the same message may have been
    /// quicker. The attempt at a number, which was counted before, is given back then.
    private func afterAnother(_ id: String, _ sent: SentAnswer, attempt: String?) async throws -> AuthenticationAnswer {
        let (found, stored) = try await self.store.verificationMaterial(
            ceremonyID: id, keys: Self.keys(of: sent.response))
        guard let answer = try await self.repetition(of: sent, found, stored) else { throw Answered.notTheFirst }
        if let attempt {
            _ = try await self.store.change(.id(id)) { _ in
                var change = CeremonyChange()
                change.returnedNumberAttempt = attempt
                return change
            }
        }
        return answer
    }

    private func answerCeremony(_ id: String, _ sent: SentAnswer, at now: Timestamp) async throws
        -> AuthenticationAnswer
    {
        let (response, data) = (sent.response, sent.data)
        try self.checks.checkNames(response.credentials, twice: .unacceptableContent)
        let (found, stored) = try await self.store.verificationMaterial(ceremonyID: id, keys: Self.keys(of: response))
        if let answer = try await self.repetition(of: sent, found, stored) { return answer }
        let ceremony = try self.checks.checkAnswerable(found, at: now)
        let verifier = AuthenticationVerifier(self.relyingParty)
        let checked = try Self.check(
            response,
            expected: ExpectedAuthentication(
                challenge: data.challenge, appID: self.configuration.appID,
                policy: try self.checks.policy(ofRequest: ceremony.detail.policy, for: .authentication),
                transaction: ceremony.detail.transaction, serverData: response.serverData, account: ceremony.accountID),
            by: verifier)
        let verified = try self.verify(checked, response, stored, by: verifier)
        let attempt = try await self.numbers.attempt(at: ceremony, by: verified, at: now)
        let approval = try await self.approval(in: ceremony, by: verified, at: now)
        // A person who compares a text may have approved the question of another (NIST SP 800-63B-4, section 3.1.3).
        let assurance =
            ceremony.detail.channelLinking == nil ? verified.assurance : verified.assurance.asOneFactor
        let receipt = try await self.receipts.receipt(of: ceremony, verified, assurance, response, stored, at: now)
        let continuation = self.random.token()
        let accepted: CeremonyRecord?
        do {
            accepted = try await self.store.change(.id(id)) { record in
                try record.take(.accept, at: now, limits: self.limits)
                record.accountID = verified.account
                record.deviceID = verified.deviceRegistration
                record.uafStatusCode = Int(UAFStatusCode.ok.rawValue)
                record.authenticators = verified.signatures.map(\.id.aaid.text)
                record.methods = assurance.methods
                record.assurance = assurance.level.rawValue
                record.contentHash = verified.confirmedContentHash
                record.answerCode = sent.code
                if record.phase == .answering {
                    record.continuationDigest = Sealing.digest(ofSecret: continuation)
                }
                var change = CeremonyChange()
                change.advances = Self.advances(verified, stored)
                change.returnedNumberAttempt = attempt
                change.forgivenPushes = verified.account
                change.companion = approval
                change.audit = [
                    AuditEvent(
                        record.kind == .transaction ? .transactionConfirmed : .authenticated, at: now,
                        accountID: verified.account, ceremonyID: id, detail: verified.deviceRegistration)
                ]
                if let receipt {
                    change.receipt = (receipt, self.limits.receiptRows)
                    change.audit.append(receipt.event(at: now))
                }
                change.identityAddition = self.identityAddition(verified, at: now)
                return change
            }
        } catch is RefusedEvent {
            return try await self.afterAnother(id, sent, attempt: attempt)
        } catch let error as CeremonyError {
            throw Answered(ofApproval: error)
        } catch let error as StoreError {
            throw try Self.answered(error)
        }
        // The account was deleted meanwhile, together with the ceremony.
        guard let accepted else { throw Answered(.invalidRequest, "the account is gone") }
        self.hub.wake(.ceremony(id))
        if let approval { self.hub.wake(.ceremony(approval.ceremonyID)) }
        var answer = ServerResponse(.ok)
        if accepted.phase == .answering {
            answer.location = self.configuration.continuationAddress(continuation)
        }
        answer.deviceKey = try await self.knownKey(verified)
        return AuthenticationAnswer(response: answer)
    }

    /// Judges an answer that approves another device of the person, or confirms a change of the account. Returns the
    /// change of the enrolment that the answer approves; `nil` for every other answer.
    ///
    /// Throws ``Answered``: 1403 for a device that approves nothing yet, and the refusals of
    /// ``DeviceApprovals/confirmation(_:in:by:at:)``.
    private func approval(
        in ceremony: CeremonyRecord, by verified: VerifiedAuthentication, at now: Timestamp
    ) async throws -> (ceremonyID: String, judge: CeremonyJudge)? {
        guard ceremony.detail.approval != nil || ceremony.detail.change != nil else { return nil }
        let device = AuthenticatedDevice(accountID: verified.account, deviceID: verified.deviceRegistration)
        do {
            try await self.deviceLimits.check(device)
            guard let enrolment = ceremony.detail.approval else { return nil }
            guard let number = verified.number else {
                throw Answered(.unacceptableContent, "no key that verifies its person has signed the number")
            }
            return try await self.approvals.confirmation(enrolment, by: device, typing: number, at: now)
        } catch let error as CeremonyError {
            throw Answered(ofApproval: error)
        }
    }

    private func answerOpenChallenge(
        _ sent: SentAnswer, policyName: String?, readsFirst: Bool, at now: Timestamp
    ) async throws -> AuthenticationAnswer {
        let (response, data) = (sent.response, sent.data)
        try self.checks.checkNames(response.credentials, twice: .unacceptableContent)
        let policy = try self.checks.policy(ofRequest: policyName, for: .authentication)
        let verifier = AuthenticationVerifier(self.relyingParty)
        let checked = try Self.check(
            response,
            expected: ExpectedAuthentication(
                challenge: data.challenge, appID: self.configuration.appID, policy: policy,
                serverData: response.serverData, account: data.username),
            by: verifier)
        let challenge = sent.challenge(judgedAs: .ok)
        func again() async throws -> AuthenticationAnswer {
            try await self.repeated.authentication(
                challenge: challenge.digest, response, sent.code, provedBy: sent.prover)
        }
        if readsFirst {
            let found = try await self.store.verificationMaterial(
                challengeDigest: challenge.digest, keys: Self.keys(of: response))
            guard let found else { return try await again() }
            _ = try self.verify(checked, response, found, by: verifier)
        }
        let verified: VerifiedAuthentication?
        do {
            verified = try await self.store.answer(challenge, keys: Self.keys(of: response), at: now) { stored in
                let verified = try self.verify(checked, response, stored, by: verifier)
                var change = CeremonyChange()
                change.advances = Self.advances(verified, stored)
                change.forgivenPushes = verified.account
                change.audit = [
                    AuditEvent(
                        .authenticated, at: now, accountID: verified.account, detail: verified.deviceRegistration)
                ]
                change.identityAddition = self.identityAddition(verified, at: now)
                return (change, verified)
            }
        } catch let error as StoreError {
            throw try Self.answered(error)
        }
        guard let verified else { return try await again() }
        var answer = ServerResponse(.ok)
        answer.deviceKey = try await self.knownKey(verified)
        let assurance = verified.assurance
        return AuthenticationAnswer(
            response: answer,
            authenticated: AuthenticatedDevice(accountID: verified.account, deviceID: verified.deviceRegistration),
            bound: data.session.flatMap { Base64URL.decode($0) }.map { session in
                BoundAuthentication(
                    session: session, methods: assurance.methods, level: assurance.level.rawValue, at: now)
            })
    }

    /// Returns the device's own keys as signed by a registered key; `nil` if the response announces none.
    ///
    /// The keys replace earlier keys of the device only if the person unlocked the signing key. A signature that the
    /// device can make alone must not decide which keys speak for the device.
    private func identityAddition(_ verified: VerifiedAuthentication, at now: Timestamp) -> DeviceIdentityAddition? {
        guard let identity = DeviceIdentityRecord(verified.deviceKeys) else { return nil }
        func event(_ kind: AuditEvent.Kind) -> AuditEvent {
            AuditEvent(kind, at: now, accountID: verified.account, detail: verified.deviceRegistration)
        }
        return DeviceIdentityAddition(
            deviceID: verified.deviceRegistration, accountID: verified.account, identity: identity,
            audit: event(.deviceKeysAdded),
            replacement: verified.areDeviceKeysByPerson
                ? DeviceIdentityAddition.Replacement(
                    audit: event(.deviceKeysReplaced),
                    notice: NoticeRecord(
                        id: self.newIdentifier(), accountID: verified.account, kind: .deviceKeysReplaced, at: now,
                        subject: ""))
                : nil)
    }

    /// Returns the name of the key that the device has announced; `nil` if the device announced none, or the key was
    /// not taken.
    ///
    /// The store is asked only after an announcement, which each device makes once.
    private func knownKey(_ verified: VerifiedAuthentication) async throws -> String? {
        guard let identity = DeviceIdentityRecord(verified.deviceKeys) else { return nil }
        let isKnown = try await self.store.isKey(identity.signing.name, ofDevice: verified.deviceRegistration)
        return isKnown ? identity.signing.name : nil
    }

    private static func keys(of response: UnverifiedAuthentication) -> [(aaid: String, keyID: [UInt8])] {
        response.credentials.map { ($0.aaid.text, $0.keyID.bytes) }
    }

    private static func check(
        _ response: UnverifiedAuthentication, expected: ExpectedAuthentication, by verifier: AuthenticationVerifier
    ) throws -> CheckedAuthentication {
        do { return try verifier.check(response, expected: expected) } catch { throw Answered(error) }
    }

    /// Applies the standard's rules, and then the server's own rules. So only a holder of the key learns of a key that
    /// may not be used.
    ///
    /// `stored` has the stored record of each of the response's keys, in the order of the response.
    private func verify(
        _ checked: CheckedAuthentication, _ response: UnverifiedAuthentication, _ stored: [StoredCredential?],
        by verifier: AuthenticationVerifier
    ) throws -> VerifiedAuthentication {
        let keys = try zip(response.credentials, stored).compactMap { id, stored in
            try stored.map { try RegisteredCredential($0.credential) } ?? self.invented.key(id)
        }
        let verified: VerifiedAuthentication
        do { verified = try verifier.verify(checked, credentials: keys) } catch {
            throw self.answered(error, response, keys)
        }
        // No client holds an invented key. Should a signature of an invented key ever verify, the answer authenticates
        // no person.
        guard stored.allSatisfy({ $0 != nil }) else {
            throw Answered(.unacceptableContent, "a key that was invented for a name that nobody has")
        }
        guard stored.allSatisfy({ $0?.credential.isActive == true && $0?.isAccountLocked == false }) else {
            throw Answered(.forbidden, "the key is not active, or its account is locked")
        }
        return verified
    }

    /// Returns the refusal for a key or an account that changed after it was read. Rethrows other errors of the store.
    private static func answered(_ error: StoreError) throws -> Answered {
        switch error.code {
        case .conflict:
            Answered(.unacceptableContent, "another answer has moved the key's counter on", audit: .counterWentBack)
        case .forbidden: Answered(.forbidden, "the key or its account was locked meanwhile")
        case .notFound: Answered(.unknownKeyID, "the key was deleted meanwhile")
        default: throw error
        }
    }

    /// Returns the refusal. For an unknown key the refusal also tells the client to delete the key (§5.1, §6.2).
    private func answered(
        _ refusal: UAFRefusal, _ response: UnverifiedAuthentication, _ known: [RegisteredCredential]
    ) -> Answered {
        var answered = Answered(refusal)
        guard refusal.statusCode == .unknownKeyID else { return answered }
        let unknown = response.credentials.filter { id in !known.contains { $0.id == id } }
        answered.newRequest = try? self.requests.deregistrationRequest(unknown.map { .key($0.aaid, $0.keyID) })
        return answered
    }

    private static func advances(_ verified: VerifiedAuthentication, _ stored: [StoredCredential?])
        -> [CounterAdvance]
    {
        verified.signatures.compactMap { signature in
            stored.lazy.compactMap { $0?.credential }.first {
                $0.keyID == signature.id.keyID.bytes && $0.aaid == signature.id.aaid.text
            }.map { CounterAdvance(credentialID: $0.id, counter: signature.newSignCounter) }
        }
    }
}

extension Answered {
    /// Makes the refusal of an answer that would approve another device, or confirm a change of the account.
    fileprivate init(ofApproval error: CeremonyError) {
        switch error.code {
        case .wrongNumber: self.init(wrongNumber: "the new device shows another number")
        case .deviceLimited: self.init(.forbidden, "the device was approved a short time ago")
        case .forbidden: self.init(.forbidden, "another device has begun the approval")
        default: self.init(.invalidRequest, "the enrolment of the new device has ended")
        }
    }
}
