import Ceremony
public import Foundation
public import UAF
import _Primitives

/// What an activation's code comes to, once its PIN was proven.
public enum PersonalizationResponse: Sendable {
    /// A new identity: ``Personalizer/finishPersonalization(request:)``.
    case newPersonalization(Personalization)
    /// The code is an invitation to somebody who has an identity of that server, its `idmIdentifier`, on this device: to
    /// start the authentication with the data takes the invitation's account into the person's own.
    case mergePersonalization(String, AuthenticationInitializationDataWithSession)
    /// There is an identity of that server on this device, and the code's account is no other one. Nothing has changed.
    case alreadyPersonalized(idmIdentifier: String)
}

/// An identity that is about to be made on this device. Until it is finished nothing is kept of it: whoever is interrupted
/// begins again with the same code.
// Safe to share: every access to what changes is within `lock`.
public final class Personalization: @unchecked Sendable, CustomStringConvertible, CustomReflectable {
    let code: ProvenCode
    private let lock = NSLock()
    private var name: String?
    private var witness: BiometricWitness?

    init(_ code: ProvenCode) { self.code = code }

    /// The server.
    public var idmIdentifier: String { self.code.code.server }
    /// Until when it can be finished, by the server's clock.
    public var validUntil: Date { Date(self.code.proven.until) }

    /// What the person calls this device, for their list of activations; `nil` for the app's own word.
    public var alias: String? {
        get { self.lock.withLock { self.name } }
        set { self.lock.withLock { self.name = newValue } }
    }

    /// Enrols a finger or a face too (``Biometrics/factorForEnrolment(prompt:)``). Without, the identity has the device and
    /// the PIN, and one can be added later.
    public func setFactor(_ factor: BiometricFactor) {
        let witness = factor.witness
        self.lock.withLock { self.witness = witness }
    }

    var biometric: BiometricWitness? { self.lock.withLock { self.witness } }

    /// The server alone: there is a PIN in here.
    public var description: String { "Personalization(\(self.idmIdentifier))" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// An identity on this device, as an app's screens show it.
public struct PersonalizedIdentity: Hashable, Sendable {
    /// The server.
    public let idmIdentifier: String
    /// The server's name for this device as the person's.
    public let activation: String
    /// What the person calls this device there.
    public let alias: String
    /// What this device can authenticate with.
    public let enrolledFactors: Set<AuthenticatorType>
    /// When it was made.
    public let createdAt: Date
    /// When a person authenticated with it last.
    public let lastUsedAt: Date?

    init(_ identity: StoredIdentity, _ factors: Set<AuthenticatorType>) {
        self.idmIdentifier = identity.server
        self.activation = identity.activation
        self.alias = identity.name
        self.enrolledFactors = factors
        self.createdAt = Date(identity.created)
        self.lastUsedAt = identity.lastUsed.map { Date($0) }
    }
}
