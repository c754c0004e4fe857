import Store
public import UAF
public import _Primitives

/// What a back end sees of a ceremony that it started.
public struct CeremonyStatus: Sendable, Equatable {
    /// `status`
    public enum State: String, Sendable, CaseIterable {
        case tokenCreated, clientAuthenticating, clientRegistering, succeeded, failed, unknown
    }

    /// `tokenResult`
    public enum TokenResult: String, Sendable, CaseIterable {
        case tokenRedeemed, tokenTimedOut
    }

    /// The state in one word.
    public let state: State
    /// When the state began; now, where the session is unknown.
    public let timestamp: Timestamp
    /// The person, as this client knows them: from the start, or from the end of a ceremony that began without.
    public let subject: String?
    /// How the server judged the phone's answer.
    public let uafStatusCode: Int?
    /// How the phone's client ended, where it reported that.
    public let clientErrorCode: Int?
    /// How the phone's authenticator module ended, where it reported that.
    public let asmStatusCode: Int?
    /// What became of the token; `nil` while it can still be redeemed.
    public let tokenResult: TokenResult?
    /// The models that answered.
    public let authenticators: [AAID]
    /// What was agreed to; there after a transaction that succeeded.
    public let confirmation: ConfirmedTransaction?

    /// Whether nothing follows.
    public var isFinal: Bool { self.state == .succeeded || self.state == .failed || self.state == .unknown }
}

/// A text that a person agreed to, for the server to sign as evidence.
public struct ConfirmedTransaction: Sendable, Equatable {
    /// The session that the text was dispatched in.
    public let sessionID: String
    /// The person, as the client knows them.
    public let subject: String
    /// SHA-256 of the content's bytes.
    public let contentHash: [UInt8]
    /// Media type of the content.
    public let contentType: String
    /// RFC 8176 names of what was used.
    public let amr: [String]
    /// The assurance that was reached.
    public let acr: String
    /// When the phone's answer was accepted.
    public let at: Timestamp
}

/// The sessions that back ends have dispatched, as each may watch its own.
public struct DispatchedSessions: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any CeremonyStore
    let hub: CeremonyHub
    let subjects: Subjects

    /// The state of a session. One that does not exist, or belongs to another client, is `unknown`.
    public func status(sessionID: String, clientID: String) async throws -> CeremonyStatus {
        try await self.reading(sessionID: sessionID, clientID: clientID).element
    }

    private func reading(sessionID: String, clientID: String) async throws -> CeremonyEvents<CeremonyStatus>.Reading {
        let now = self.time.now()
        guard let record = try await self.store.ceremony(.id(sessionID)), record.clientID == clientID else {
            let unknown = CeremonyStatus(
                state: .unknown, timestamp: now, subject: nil, uafStatusCode: nil, clientErrorCode: nil,
                asmStatusCode: nil, tokenResult: nil, authenticators: [], confirmation: nil)
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
            asmStatusCode: record.asmStatusCode,
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

    /// The states of a session from now to the last.
    public func statusEvents(sessionID: String, clientID: String) -> CeremonyEvents<CeremonyStatus> {
        CeremonyEvents(hub: self.hub, id: sessionID, time: self.time) {
            try await self.reading(sessionID: sessionID, clientID: clientID)
        }
    }
}
