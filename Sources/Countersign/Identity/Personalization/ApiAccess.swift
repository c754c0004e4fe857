import Foundation
import _Primitives

/// What an authentication has permitted to be done with the person's own account or activation, once and soon: the four kinds
/// are given to the function of ``Personalizer`` that finishes them.
// Safe to share: its kinds, which are all in this file, change nothing but within `lock`.
public class ApiAccess: IdentitySessionHolder, @unchecked Sendable, CustomStringConvertible, CustomReflectable {
    /// The process.
    public let identitySession: IdentitySession
    let completions: IdentityCompletions
    fileprivate let lock = NSLock()

    init(_ session: IdentitySession, _ completions: IdentityCompletions) {
        self.identitySession = session
        self.completions = completions
    }

    /// The server.
    public var idmIdentifier: String { self.identitySession.claimed.server }

    /// Forgets what a person has typed: nothing comes of it any more.
    func forget() { self.completions.forget() }

    /// The type alone.
    public var description: String { "\(type(of: self))" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A factor may be added: complete it with ``setFactor(_:)``, then
/// ``Personalizer/finishAddAuthenticationFactor(request:)``.
public final class ApiAccessAddFactor: ApiAccess, @unchecked Sendable {
    private var witness: BiometricWitness?

    /// Takes the finger or the face that is to be added (``Biometrics/factorForEnrolment(prompt:)``).
    public func setFactor(_ factor: BiometricFactor) {
        let witness = factor.witness
        self.lock.withLock { self.witness = witness }
    }

    /// Throws ``CountersignError`` `factorMissing`.
    func factor() throws -> BiometricWitness {
        guard let witness = self.lock.withLock({ self.witness }) else { throw CountersignError(.factorMissing) }
        return witness
    }
}

/// The PIN may be changed: complete it with ``pinSpec``, then ``Personalizer/finishChangePin(request:)``.
public final class ApiAccessChangePin: ApiAccess, @unchecked Sendable {
    /// What takes the new PIN.
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

/// Another device may be given an activation: complete it with ``pinSpec`` and what else is wanted, then
/// ``Personalizer/finishRequestNewActivationData(_:)``.
public final class ApiAccessRequestNewActivationData: ApiAccess, @unchecked Sendable {
    /// What takes the PIN of the new activation.
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

    /// What the other device is to be called; `nil` leaves it to that device.
    public var alias: String? {
        get { self.lock.withLock { self.name } }
        set { self.lock.withLock { self.name = newValue } }
    }

    /// Whether the server also sends the code to the person's own address. Then it gets to know the code's secret; by
    /// default it never does.
    public var shouldSendEmail: Bool {
        get { self.lock.withLock { self.sendsLetter } }
        set { self.lock.withLock { self.sendsLetter = newValue } }
    }
}

/// The account may be deleted, for good: ask the person once more, then ``Personalizer/finishDeletion(request:)``.
public final class ApiAccessDelete: ApiAccess, @unchecked Sendable {}
