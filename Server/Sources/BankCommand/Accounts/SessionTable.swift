import Foundation

/// The sessions of the browsers that visit the bank, by the value of their cookie.
///
/// Anybody can be a visitor, as often as they like. Visitors therefore have a bound of their own, and never take the
/// place of a customer who is signed in. A customer at the bound loses the session of the browser that was seen longest
/// ago.
actor SessionTable {
    struct Session: Sendable {
        let id: String
        /// The token that every form sends back. Without the token another site's page cannot send a form in the
        /// customer's name.
        let formToken: String
        var begun: OpenIDClient.BegunSignIn?
        var person: OpenIDClient.Person?
        var lastSeen: Date
    }

    private var visitors: [String: Session] = [:]
    private var customers: [String: Session] = [:]
    private let maximumVisitors: Int
    private let maximumPerCustomer: Int

    init(
        maximumVisitors: Int = BankLimits.visitors, maximumPerCustomer: Int = BankLimits.sessionsPerCustomer
    ) {
        self.maximumVisitors = maximumVisitors
        self.maximumPerCustomer = maximumPerCustomer
    }

    /// Returns the session of a cookie. Makes a new session if the cookie has none or the session is too old.
    func session(_ id: String?, now: Date = Date()) -> Session {
        if let id, var session = self.customers[id] ?? self.visitors[id], !Self.isOver(session, now) {
            session.lastSeen = now
            self.keep(session)
            return session
        }
        if self.visitors.count >= self.maximumVisitors {
            self.visitors = self.visitors.filter { !Self.isOver($0.value, now) }
            if self.visitors.count >= self.maximumVisitors, let oldest = Self.oldest(self.visitors.values) {
                self.visitors[oldest.id] = nil
            }
        }
        return self.make(nil, now: now)
    }

    /// Remembers that this browser was sent to the provider.
    func begin(_ begun: OpenIDClient.BegunSignIn, in id: String) { self.setBegunSignIn(begun, in: id) }

    /// Returns the begun sign-in of this browser and forgets the sign-in.
    func takeBegunSignIn(in id: String) -> OpenIDClient.BegunSignIn? {
        defer { self.setBegunSignIn(nil, in: id) }
        return (self.customers[id] ?? self.visitors[id])?.begun
    }

    /// Makes a session under a new id for a person who has just signed in. The old id is worth nothing afterwards.
    func signIn(_ person: OpenIDClient.Person, replacing id: String, now: Date = Date()) -> Session {
        self.end(id)
        self.customers = self.customers.filter { !Self.isOver($0.value, now) }
        let others = self.customers.values.filter { $0.person?.subject == person.subject }
        if others.count >= self.maximumPerCustomer, let oldest = Self.oldest(others) {
            self.customers[oldest.id] = nil
        }
        return self.make(person, now: now)
    }

    /// Ends a session.
    func end(_ id: String) {
        self.visitors[id] = nil
        self.customers[id] = nil
    }

    private func make(_ person: OpenIDClient.Person?, now: Date) -> Session {
        let session = Session(id: Base64.random(), formToken: Base64.random(), person: person, lastSeen: now)
        self.keep(session)
        return session
    }

    private func keep(_ session: Session) {
        if session.person == nil { self.visitors[session.id] = session } else { self.customers[session.id] = session }
    }

    private func setBegunSignIn(_ begun: OpenIDClient.BegunSignIn?, in id: String) {
        self.visitors[id]?.begun = begun
        self.customers[id]?.begun = begun
    }

    private static func isOver(_ session: Session, _ now: Date) -> Bool {
        session.lastSeen.addingTimeInterval(BankLimits.idleTime) <= now
    }

    private static func oldest(_ sessions: some Sequence<Session>) -> Session? {
        sessions.min { $0.lastSeen < $1.lastSeen }
    }
}
