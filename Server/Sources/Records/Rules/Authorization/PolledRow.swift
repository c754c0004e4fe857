package import _Primitives

/// An answer to a client that asks repeatedly, until a person has answered (RFC 8628, section 3.5; OpenID Connect CIBA
/// Core 1.0, section 11).
package protocol PollingAnswer: Sendable, Equatable {
    /// The client has asked too soon. From now on it has to wait longer.
    static var tooSoon: Self { get }
    /// The time is over.
    static var expired: Self { get }
    /// The result was given before, and is gone now.
    static var replayed: Self { get }
    /// The client has no such code or request (any more).
    static var unknown: Self { get }
}

extension DeviceAnswer: PollingAnswer {}
extension BackchannelAnswer: PollingAnswer {}

/// The values of a row that a client asks about repeatedly, until a person has answered.
package struct PolledRow<Answer: PollingAnswer>: Sendable, Equatable {
    /// The grant that the client was given before; `nil` if the client was given none.
    package let givenGrant: String?
    /// The answer that no further question changes; `nil` while the client has to wait for the answer.
    package let finalAnswer: Answer?
    /// The moment from which the row is worth nothing.
    package let endsAt: Timestamp
    /// The pause between the last judged question and the next.
    package let pause: Duration
    /// The moment of the last judged question; `nil` if no question was judged yet.
    package let askedAt: Timestamp?

    /// The effect of a question.
    package enum Verdict: Sendable, Equatable {
        /// The result was given before. The grant ends with everything depending on the grant, and the audit event of
        /// the replay is kept. The answer is ``PollingAnswer/replayed``.
        case replayed(grant: String)
        /// Nothing is written.
        case answered(Answer)
        /// The question is not judged. The pause is written, and the answer is ``PollingAnswer/tooSoon``.
        case tooSoon(pause: Duration)
        /// The question is judged. The moment of the question is written, and the client may receive the content of the
        /// row.
        case judged
    }

    /// Judges a question that comes at `moment`.
    package func verdict(on question: PollingQuestion, at moment: Timestamp) -> Verdict {
        if let givenGrant = self.givenGrant { return .replayed(grant: givenGrant) }
        guard moment < self.endsAt else { return .answered(.expired) }
        if let finalAnswer = self.finalAnswer { return .answered(finalAnswer) }
        guard let askedAt = self.askedAt, moment < askedAt + self.pause - question.tolerance else { return .judged }
        // The pause counts from the last judged question, so a client that keeps asking too soon still gets an answer.
        let next = min(self.pause + question.slowdown, max(self.pause, question.longestInterval))
        return .tooSoon(pause: next)
    }
}

extension PolledRow<DeviceAnswer> {
    /// Makes a row of a device's code.
    ///
    /// - Parameters:
    ///   - grant: The grant by the person's yes; `nil` while the person has not said yes.
    ///   - takenAt: The moment when the device received the grant; `nil` if the device has not received the grant.
    ///   - isDenied: `true` if the person said no, or the request that waited for the person ended without a yes.
    package init(
        grant: String?, takenAt: Timestamp?, isDenied: Bool, endsAt: Timestamp, pause: Duration, askedAt: Timestamp?
    ) {
        self.givenGrant = takenAt == nil ? nil : grant
        self.finalAnswer = isDenied ? .denied : nil
        self.endsAt = endsAt
        self.pause = pause
        self.askedAt = askedAt
    }
}

extension PolledRow<BackchannelAnswer> {
    /// Makes a row of a backchannel request. The client receives its tokens in the step that adds the grant, so a grant
    /// was given before.
    package init(grant: String?, endsAt: Timestamp, pause: Duration, askedAt: Timestamp?) {
        self.givenGrant = grant
        self.finalAnswer = nil
        self.endsAt = endsAt
        self.pause = pause
        self.askedAt = askedAt
    }
}

extension PollingQuestion {
    /// Returns the audit event of a replay, with the account of the replayed grant.
    ///
    /// - Parameter grant: The grant, as the store has found it; `nil` if the grant is not valid any more.
    package func replay(of grant: StandingGrant?) -> AuditEvent {
        var event = self.replay
        event.accountID = grant?.authentication.account
        return event
    }
}

extension DeviceAnswer {
    /// Answers a judged question.
    ///
    /// - Parameters:
    ///   - grant: The grant by the person's yes; `nil` while the person has not said yes.
    ///   - standing: The same grant, as the store has found it; `nil` if the grant is not valid any more.
    package init(grant: String?, standing: StandingGrant?) {
        switch (grant, standing) {
        case (nil, _): self = .pending
        case (_?, let standing?): self = .taken(standing)
        case (_?, nil): self = .unknown
        }
    }

    /// The grant that the device receives by this answer; `nil` if it receives none. The store notes the moment, so that
    /// no other question receives the grant.
    package var takenGrant: String? {
        guard case .taken(let standing) = self else { return nil }
        return standing.grant.id
    }
}

extension NotifiedBackchannelRequest {
    /// Makes a request with its grant; `nil` if the request's grant is not valid any more.
    ///
    /// - Parameters:
    ///   - grant: The grant that the request has given; `nil` if it has given none.
    ///   - standing: The same grant, as the store has found it.
    ///   - request: Returns the request. The function is called only for a request that is returned.
    package init?(grant: String?, standing: StandingGrant?, request: () throws -> BackchannelRequestRecord) rethrows {
        guard grant == nil || standing != nil else { return nil }
        self.init(request: try request(), given: standing)
    }
}
