import Foundation
import _Primitives

/// An operation on the person's own account or activation that an authentication has permitted, once and soon. Pass
/// each of the four kinds to the function of ``Personalizer`` that finishes the operation.
// Safe to share: the subclasses, which are all in this file, change state only within `lock`.
public class ApiAccess: IdentitySessionHolder, @unchecked Sendable, CustomStringConvertible, CustomReflectable {
    /// The session of the process.
    public let identitySession: IdentitySession
    let completions: IdentityCompletions
    fileprivate let lock = NSLock()

    init(_ session: IdentitySession, _ completions: IdentityCompletions) {
        self.identitySession = session
        self.completions = completions
    }

    /// The server's identifier.
    public var idmIdentifier: String { self.identitySession.claimed.server }

    /// Deletes the person's input, which is no longer needed.
    func forget() { self.completions.forget() }

    /// The type's name only.
    public var description: String { "\(type(of: self))" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The permission to add a factor. Complete the permission with ``setFactor(_:)``, then call
/// ``Personalizer/finishAddAuthenticationFactor(request:)``.
public final class ApiAccessAddFactor: ApiAccess, @unchecked Sendable {
    private var witness: BiometricWitness?

    /// Sets the finger or face to be added (``Biometrics/factorForEnrolment(prompt:)``).
    public func setFactor(_ factor: BiometricFactor) {
        let witness = factor.witness
        self.lock.withLock { self.witness = witness }
    }

    /// Returns the factor that was set. Throws ``CountersignError`` `factorMissing`.
    func factor() throws -> BiometricWitness {
        guard let witness = self.lock.withLock({ self.witness }) else { throw CountersignError(.factorMissing) }
        return witness
    }
}

/// The permission to change the PIN. Complete the permission with ``pinSpec``, then call
/// ``Personalizer/finishChangePin(request:)``.
public final class ApiAccessChangePin: ApiAccess, @unchecked Sendable {
    /// The specification that receives the new PIN.
    public let pinSpec: PinSpecification

    init(_ session: IdentitySession, _ completions: IdentityCompletions, _ pinSpec: PinSpecification) {
        self.pinSpec = pinSpec
        super.init(session, completions)
    }

    override func forget() {
        super.forget()
        self.pinSpec.forget()
    }
}

/// The permission to request an activation for another device. Complete the permission with ``pinSpec`` and the
/// optional properties, then call ``Personalizer/finishRequestNewActivationData(_:)``.
public final class ApiAccessRequestNewActivationData: ApiAccess, @unchecked Sendable {
    /// The specification that receives the PIN of the new activation.
    public let pinSpec: PinSpecification
    private var name: String?
    private var sendsLetter = false

    init(_ session: IdentitySession, _ completions: IdentityCompletions, _ pinSpec: PinSpecification) {
        self.pinSpec = pinSpec
        super.init(session, completions)
    }

    override func forget() {
        super.forget()
        self.pinSpec.forget()
    }

    /// The name of the other device; `nil` leaves the name to the other device.
    public var alias: String? {
        get { self.lock.withLock { self.name } }
        set { self.lock.withLock { self.name = newValue } }
    }

    /// `true` if the server also sends the code to the person's own e-mail address. The server then learns the code's
    /// secret; by default it never does.
    public var shouldSendEmail: Bool {
        get { self.lock.withLock { self.sendsLetter } }
        set { self.lock.withLock { self.sendsLetter = newValue } }
    }
}

/// The permission to delete the account permanently. Ask the person once more, then call
/// ``Personalizer/finishDeletion(request:)``.
public final class ApiAccessDelete: ApiAccess, @unchecked Sendable {}
