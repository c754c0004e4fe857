import Foundation

/// The browsers that visit the bank, by the value of their cookie.
actor SessionTable {
    struct Session: Sendable {
        let id: String
        /// Comes back in every form, so that another site's page cannot send one in the customer's name.
        let formToken: String
        var attempt: OpenIDProvider.Attempt?
        var person: OpenIDProvider.Person?
        var lastSeen: Date
    }

    private var sessions: [String: Session] = [:]
    private static let idleTime: TimeInterval = 30 * 60
    private static let maximumSessions = 10_000

    /// The session of a cookie, or a new one where there is none or it is too old.
    func session(_ id: String?, now: Date = Date()) -> Session {
        if let id, var session = self.sessions[id], session.lastSeen.addingTimeInterval(Self.idleTime) > now {
            session.lastSeen = now
            self.sessions[id] = session
            return session
        }
        return self.make(now: now)
    }

    private func make(now: Date) -> Session {
        if self.sessions.count >= Self.maximumSessions {
            self.sessions = self.sessions.filter { $0.value.lastSeen.addingTimeInterval(Self.idleTime) > now }
            if self.sessions.count >= Self.maximumSessions,
                let oldest = self.sessions.values.min(by: { $0.lastSeen < $1.lastSeen })
            {
                self.sessions[oldest.id] = nil
            }
        }
        let session = Session(id: Base64.random(), formToken: Base64.random(), lastSeen: now)
        self.sessions[session.id] = session
        return session
    }

    /// Remembers that this browser was sent to the provider.
    func begin(_ attempt: OpenIDProvider.Attempt, in id: String) {
        self.sessions[id]?.attempt = attempt
    }

    /// The attempt of this browser, once.
    func takeAttempt(in id: String) -> OpenIDProvider.Attempt? {
        defer { self.sessions[id]?.attempt = nil }
        return self.sessions[id]?.attempt
    }

    /// A session under a new id for somebody who has just signed in; the old id is worth nothing any more.
    func signIn(_ person: OpenIDProvider.Person, replacing id: String, now: Date = Date()) -> Session {
        self.sessions[id] = nil
        var session = self.make(now: now)
        session.person = person
        self.sessions[session.id] = session
        return session
    }

    /// Ends a session.
    func end(_ id: String) { self.sessions[id] = nil }
}
