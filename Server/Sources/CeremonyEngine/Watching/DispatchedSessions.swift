public import Records
public import UAF
public import _Primitives

/// The state of a ceremony, for the back end that started the ceremony.
public struct CeremonyStatus: Sendable, Equatable {
    /// The states (`status`).
    public enum State: String, Sendable, CaseIterable {
        case tokenCreated, clientAuthenticating, clientRegistering, succeeded, failed, unknown
    }

    /// The results of a token (`tokenResult`).
    public enum TokenResult: String, Sendable, CaseIterable {
        case tokenRedeemed, tokenTimedOut
    }

    /// The ways in which a person has refused (`refusal`).
    public enum Refusal: String, Sendable, CaseIterable {
        /// The person denied the request, and the device signed the denial.
        case denied
        /// The person denied the request because of its content, and the device signed the denial.
        case wrongContent
        /// The person said that another party had begun the request, and the device signed the statement.
        case notMe
        /// The person closed the request on the phone. The phone signed nothing.
        case givenUp
    }

    /// The state in one word.
    public let state: State
    /// The beginning of the state; the present time for an unknown session.
    public let timestamp: Timestamp
    /// The person, by the client's name for the person. Known from the start of a transaction; for every other ceremony
    /// `nil` before the success, and after an end without success.
    public let subject: String?
    /// The server's judgement of the phone's answer.
    public let uafStatusCode: Int?
    /// The result of the phone's client, if reported.
    public let clientErrorCode: Int?
    /// The result of the phone's authenticator module, if reported.
    public let asmStatusCode: Int?
    /// The person's refusal; `nil` for every other end, and before the end.
    public let refusal: Refusal?
    /// The result of the token; `nil` while the token can still be redeemed.
    public let tokenResult: TokenResult?
    /// The models of the authenticators that answered.
    public let authenticators: [AAID]
    /// The confirmed transaction; `nil` unless a transaction succeeded.
    public let confirmation: ConfirmedTransaction?

    /// The identifier of the state among the states of its session: the same for the same state at each read, and another
    /// after each change.
    public var eventID: String {
        self.state == .unknown ? self.state.rawValue : "\(self.state.rawValue)-\(self.timestamp.milliseconds)"
    }

    /// `true` if no other state follows.
    public var isFinal: Bool { self.state == .succeeded || self.state == .failed || self.state == .unknown }
}

/// A text or a picture that a person agreed to, for the server to sign as evidence.
public struct ConfirmedTransaction: Sendable, Equatable {
    /// The identifier of the session in which the text or picture was dispatched.
    public let sessionID: String
    /// The person, by the client's name for the person.
    public let subject: String
    /// SHA-256 of the content's bytes.
    public let contentHash: [UInt8]
    /// The media type of the content.
    public let contentType: String
    /// The RFC 8176 names of the methods.
    public let amr: [String]
    /// The assurance level.
    public let acr: String
    /// The time when the phone's answer was accepted.
    public let at: Timestamp
}

/// The sessions that back ends have dispatched. Each back end may watch its own sessions.
public struct DispatchedSessions: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any CeremonyStore
    let hub: CeremonyHub
    let subjects: Subjects

    /// Returns the state of a session. An unknown session, or a session of another client, is `unknown`.
    public func status(sessionID: String, clientID: String) async throws -> CeremonyStatus {
        try await self.reading(sessionID: sessionID, clientID: clientID).element
    }

    /// Returns the last state of a session for its client, from the members of the ceremony that the step of the end kept
    /// (``ClientDelivery/Content/status(_:)``).
    public func status(ofEnded session: CeremonyRecord, clientID: String) async throws -> CeremonyStatus {
        try await self.status(of: session, clientID: clientID, at: session.changedAt)
    }

    private func reading(sessionID: String, clientID: String) async throws -> CeremonyEvents<CeremonyStatus>.Reading {
        let now = self.time.now()
        guard let record = try await self.store.ceremony(.id(sessionID)), record.clientID == clientID else {
            let unknown = CeremonyStatus(
                state: .unknown, timestamp: now, subject: nil, uafStatusCode: nil, clientErrorCode: nil,
                asmStatusCode: nil, refusal: nil, tokenResult: nil, authenticators: [], confirmation: nil)
            return (unknown, true, nil)
        }
        let status = try await self.status(of: record, clientID: clientID, at: now)
        return (status, status.isFinal, record.expiresAt)
    }

    private func status(of record: CeremonyRecord, clientID: String, at now: Timestamp) async throws
        -> CeremonyStatus
    {
        var subject: String?
        if let accountID = record.accountID, record.kind == .transaction || record.outcome == .succeeded {
            subject = try await self.subjects.subject(accountID, clientID)
        }
        let isOverdue = record.phase != .ended && now >= record.expiresAt
        let state: CeremonyStatus.State
        switch (record.phase, record.outcome) {
        case _ where isOverdue: state = .failed
        case (.created, _): state = .tokenCreated
        case (.claimed, _), (.answering, _):
            state = record.kind == .registration ? .clientRegistering : .clientAuthenticating
        case (.ended, .succeeded): state = .succeeded
        case (.ended, _): state = .failed
        }
        return CeremonyStatus(
            state: state, timestamp: isOverdue ? record.expiresAt : record.changedAt, subject: subject,
            uafStatusCode: record.uafStatusCode, clientErrorCode: record.clientErrorCode,
            asmStatusCode: record.asmStatusCode, refusal: record.outcome == .denied ? .init(record.denial) : nil,
            tokenResult: record.channel != nil ? .tokenRedeemed : state == .failed ? .tokenTimedOut : nil,
            authenticators: record.authenticators.compactMap { try? AAID($0) },
            confirmation: self.confirmation(record, subject: subject))
    }

    private func confirmation(_ record: CeremonyRecord, subject: String?) -> ConfirmedTransaction? {
        guard record.kind == .transaction, record.outcome == .succeeded, let subject, let hash = record.contentHash,
            let contentType = record.detail.contentType
        else { return nil }
        return ConfirmedTransaction(
            sessionID: record.id, subject: subject, contentHash: hash, contentType: contentType,
            amr: record.methods, acr: record.assurance, at: record.changedAt)
    }

    /// Returns the states of a session, from the present state to the last.
    public func statusEvents(sessionID: String, clientID: String) -> CeremonyEvents<CeremonyStatus> {
        CeremonyEvents(hub: self.hub, topic: .ceremony(sessionID), time: self.time) {
            try await self.reading(sessionID: sessionID, clientID: clientID)
        }
    }
}

extension CeremonyStatus.Refusal {
    /// Creates the refusal of a denied ceremony: without a signed denial, the person gave up.
    fileprivate init(_ denial: CeremonyRecord.Denial?) {
        switch denial {
        case .unwanted: self = .denied
        case .wrongContent: self = .wrongContent
        case .notMe: self = .notMe
        case nil: self = .givenUp
        }
    }
}
