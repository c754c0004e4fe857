import Ceremony
public import Foundation
public import UAF
import _Primitives

/// The result of an activation's code after its PIN was proven.
public enum PersonalizationResponse: Sendable {
    /// The code starts a new identity: ``Personalizer/finishPersonalization(request:)``.
    case newPersonalization(Personalization)
    /// The code is an invitation, and this device already has an identity of the server (the `idmIdentifier` in the
    /// first value). An authentication with the data merges the invitation's account into the person's own account.
    case mergePersonalization(String, AuthenticationInitializationDataWithSession)
    /// This device has an identity of the server, and the code is not an open invitation: the server cannot merge the
    /// code's account, which may be the same account or another. Nothing has changed.
    case alreadyPersonalized(idmIdentifier: String)
}

/// An identity that is about to be made on this device. No identity is stored before
/// ``Personalizer/finishPersonalization(request:)`` is called: after an interruption, the person begins again with the
/// same code.
// Safe to share: every access to changing state is within `lock`.
public final class Personalization: @unchecked Sendable, CustomStringConvertible, CustomReflectable {
    let code: ProvenCode
    private let lock = NSLock()
    private var name: String?
    private var witness: BiometricWitness?

    init(_ code: ProvenCode) { self.code = code }

    /// The server's identifier.
    public var idmIdentifier: String { self.code.code.server }
    /// The latest time at which the personalization can be finished, by the server's clock.
    public var validUntil: Date { Date(self.code.proven.until) }

    /// The person's name for this device, for the person's list of activations; `nil` for the name in the app's
    /// configuration.
    public var alias: String? {
        get { self.lock.withLock { self.name } }
        set { self.lock.withLock { self.name = newValue } }
    }

    /// Enrols a finger or face too (``Biometrics/factorForEnrolment(prompt:)``). Without this call, the identity has
    /// the device and the PIN as factors; the person can add a finger or face later.
    public func setFactor(_ factor: BiometricFactor) {
        let witness = factor.witness
        self.lock.withLock { self.witness = witness }
    }

    var biometric: BiometricWitness? { self.lock.withLock { self.witness } }

    /// The server's identifier only, because the object holds a PIN.
    public var description: String { "Personalization(\(self.idmIdentifier))" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// An identity on this device, as an app's screens show it.
public struct PersonalizedIdentity: Hashable, Sendable {
    /// The server's identifier.
    public let idmIdentifier: String
    /// The server's identifier of this device among the person's devices.
    public let activation: String
    /// The person's name for this device at the server.
    public let alias: String
    /// The factors with which this device can authenticate.
    public let enrolledFactors: Set<AuthenticatorType>
    /// The time at which the identity was made.
    public let createdAt: Date
    /// The time of the last authentication with the identity; `nil` if the identity was never used.
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
