import Ceremony
import Foundation
public import UAF
import _Primitives

/// What a person agrees to and what they sign it with. Sign with every factor of one of ``requestedAuthenticators``, then
/// ``Authenticator/finishAuthentication(userInfo:)``.
// Safe to share: every access to `state` is within `lock`, and everything else never changes.
public final class AuthenticationUserInformation: IdentitySessionHolder, @unchecked Sendable, CustomStringConvertible,
    CustomReflectable
{
    private struct State {
        var checked: CheckedSession
        var factors: [AuthenticatorType: SuppliedFactor] = [:]
        var isTextShown = false
        /// Whether the session waits for another signature.
        var isOpen = true
    }

    /// The process.
    public let identitySession: IdentitySession
    /// What to sign with, in the role that was chosen: alternatives, each of which is met by all of its types together and by
    /// no other. Those that this identity can meet on this device or, where it can meet none, all of them. Never empty.
    public let requestedAuthenticators: [[AuthenticatorType]]
    /// What this identity lacks for every alternative; empty where it can meet one.
    public let missingAuthenticators: Set<AuthenticatorType>
    /// The server.
    public var idmIdentifier: String { self.identitySession.claimed.server }

    /// The factors that have left, where what the server has judged was lost.
    let unanswered = UnansweredRequests<SentFactors>()
    /// Whether nothing is signed before the text was shown.
    private let demandsText: Bool
    private let lock = NSLock()
    private var state: State

    /// Throws ``CountersignError`` `protocolVersionUnsupported` where this version knows none of the alternatives.
    init(
        _ checked: CheckedSession, _ session: IdentitySession, demandingText: Bool,
        from enrolled: Set<AuthenticatorType>
    ) throws {
        guard let matrix = try? AuthenticatorMatrix(names: checked.prepared.alternatives) else {
            throw CountersignError(.protocolVersionUnsupported, "factors")
        }
        let request = matrix.request(from: enrolled)
        self.identitySession = session
        self.requestedAuthenticators = request.alternatives
        self.missingAuthenticators = request.missing
        self.demandsText = demandingText
        self.state = State(checked: checked)
    }

    /// What else the person agrees to, to be shown before they sign; `nil` where there is nothing.
    ///
    /// Nothing is signed before it was read where somebody else asks. What the person has begun in this app, with their own
    /// account, is signed also by an app that has no place for the text: such a text says again what they have begun.
    public var transactionText: String? {
        self.lock.withLock {
            self.state.isTextShown = true
            return self.state.checked.document.text?.text
        }
    }

    /// Whether there is a ``transactionText``. Asking counts for nothing.
    public var hasContent: Bool { self.lock.withLock { self.state.checked.document.text != nil } }

    /// Says that a screen has the text, for an app that shows it by other means than ``transactionText``. Call it before
    /// ``Authenticator/finishAuthentication(userInfo:)``.
    public func contentWasShown() { self.lock.withLock { self.state.isTextShown = true } }

    /// What goes to the service with the signatures, in the order of the attributes: to be said before the person signs. What
    /// the service cannot do without is among them also where it had but one value, and nobody was asked.
    public var confirmedAttributes: [ConfirmedAttribute] {
        self.lock.withLock { self.state.checked.document.confirmedAttributes }
    }

    /// Takes a factor, in the place of one of its type. It signs when the authentication is finished; a wrong PIN is one like
    /// any other, and comes out then.
    ///
    /// Throws ``CountersignError``: `factorNotSupported` for what is reserved, `factorNotRequested` for a type that is in no
    /// alternative, `sessionExpired` once the process is over.
    public func sign(factor: AuthenticationFactor) throws {
        guard let supplied = factor.supplied else { throw CountersignError(.factorNotSupported) }
        guard self.requestedAuthenticators.contains(where: { $0.contains(supplied.type) }) else {
            throw CountersignError(.factorNotRequested)
        }
        try self.lock.withLock {
            guard self.state.isOpen else { throw CountersignError(.sessionExpired) }
            self.state.factors[supplied.type] = supplied
        }
    }

    /// Takes what is to be signed and the factors out: each is used once.
    ///
    /// Throws ``CountersignError`` `factorMissing`, `sessionExpired`; ``EngineError`` `undisclosed`.
    func take() throws -> (CheckedSession, [SuppliedFactor], Disclosure.Complete) {
        try self.lock.withLock {
            guard self.state.isOpen else { throw CountersignError(.sessionExpired) }
            guard !self.state.factors.isEmpty else { throw CountersignError(.factorMissing) }
            var disclosure = Disclosure(hasContent: self.demandsText && self.state.checked.document.text != nil)
            if self.state.isTextShown { disclosure.contentWasShown() }
            let complete = try disclosure.complete()
            defer { self.state.factors = [:] }
            // In one order, whatever the app's was.
            let factors = AuthenticatorType.allCases.compactMap { self.state.factors[$0] }
            return (self.state.checked, factors, complete)
        }
    }

    /// Puts factors back that have signed nothing that has left; none where the process was given up meanwhile.
    func put(back factors: [SuppliedFactor]) {
        self.lock.withLock {
            guard self.state.isOpen else { return }
            for factor in factors where self.state.factors[factor.type] == nil {
                self.state.factors[factor.type] = factor
            }
        }
    }

    /// Waits for new signatures over another document, or for none.
    func move(to checked: CheckedSession?) {
        self.unanswered.forget()
        self.lock.withLock {
            self.state.factors = [:]
            self.state.isOpen = checked != nil
            self.state.checked.askedPins.forget()
            if let checked { self.state.checked = checked }
        }
        if let deadlines = checked?.prepared.deadlines { self.identitySession.move(to: deadlines) }
    }

    /// The type alone: there are PINs in here.
    public var description: String { "AuthenticationUserInformation" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
