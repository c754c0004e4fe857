import Ceremony
import Foundation
public import UAF
import _Primitives

/// The content to which a person agrees, and the factors that sign the content. Sign with every factor of one of
/// ``requestedAuthenticators``, then call ``Authenticator/finishAuthentication(userInfo:)``.
// Safe to share: every access to `state` is within `lock`, and everything else never changes.
public final class AuthenticationUserInformation: IdentitySessionHolder, @unchecked Sendable, CustomStringConvertible,
    CustomReflectable
{
    private struct State {
        var checked: CheckedSession
        var factors: [AuthenticatorType: SuppliedFactor] = [:]
        var isTextShown = false
        /// `true` if the session waits for another signature.
        var isOpen = true
    }

    /// The session of the process.
    public let identitySession: IdentitySession
    /// The alternative combinations of factors for signing, in the chosen role. A combination is complete with all of
    /// its types together and with no other type.
    ///
    /// The list holds the combinations that this identity can complete on this device. If the identity can complete
    /// none, the list holds all combinations. The list is never empty.
    public let requestedAuthenticators: [[AuthenticatorType]]
    /// The factors that this identity lacks, of all alternatives together; empty if the identity can complete an
    /// alternative.
    public let missingAuthenticators: Set<AuthenticatorType>
    /// The server's identifier.
    public var idmIdentifier: String { self.identitySession.claimed.server }

    /// The factors that were sent and whose judgement by the server was lost.
    let unanswered = UnansweredRequests<SentFactors>()
    /// `true` if the text must be shown before anything is signed.
    private let demandsText: Bool
    private let lock = NSLock()
    private var state: State

    /// Creates the information of a checked session. Throws ``CountersignError`` `protocolVersionUnsupported` if this
    /// version knows none of the alternatives.
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

    /// The additional text to which the person agrees, to be shown before the person signs; `nil` if there is no text.
    ///
    /// If another party requests the authentication, nothing is signed before the app has read this property or called
    /// ``contentWasShown()``. An operation that the person began in this app, with their own account, can be signed
    /// without reading the text: the text then only repeats the operation.
    public var transactionText: String? {
        self.lock.withLock {
            self.state.isTextShown = true
            return self.state.checked.document.text?.text
        }
    }

    /// `true` if a ``transactionText`` exists. Reading this property does not count as showing the text.
    public var hasContent: Bool { self.lock.withLock { self.state.checked.document.text != nil } }

    /// Declares that a screen shows the text, for an app that shows the text by other means than ``transactionText``.
    /// Call this function before ``Authenticator/finishAuthentication(userInfo:)``.
    public func contentWasShown() { self.lock.withLock { self.state.isTextShown = true } }

    /// The attributes that the service receives with the signatures, in the order of the attributes. Show them before
    /// the person signs.
    ///
    /// The list includes every attribute that the service requires, even if the attribute had a single value and the
    /// person was not asked.
    public var confirmedAttributes: [ConfirmedAttribute] {
        self.lock.withLock { self.state.checked.document.confirmedAttributes }
    }

    /// Adds a factor, in place of an earlier factor of the same type. The factor signs when the authentication is
    /// finished. A wrong PIN is accepted here and detected when the authentication is finished.
    ///
    /// Throws ``CountersignError``: `factorNotSupported` for a reserved type, `factorNotRequested` for a type that is
    /// in no alternative, `sessionExpired` after the end of the process.
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

    /// Returns the content to be signed, and removes and returns the factors that sign the content. Each factor is used
    /// once.
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
            // The factors have one fixed order, independent of the app's order.
            let factors = AuthenticatorType.allCases.compactMap { self.state.factors[$0] }
            return (self.state.checked, factors, complete)
        }
    }

    /// Puts factors back whose signatures were not sent, except factors whose type was signed again meanwhile. Puts
    /// none back if the process was given up meanwhile.
    func put(back factors: [SuppliedFactor]) {
        self.lock.withLock {
            guard self.state.isOpen else { return }
            for factor in factors where self.state.factors[factor.type] == nil {
                self.state.factors[factor.type] = factor
            }
        }
    }

    /// Deletes all factors and typed PINs, and begins to wait for signatures over the given document. With `nil`, the
    /// process is over, and no factor is accepted any more.
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

    /// The type's name only, because the object holds PINs.
    public var description: String { "AuthenticationUserInformation" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
