public import UAF
public import _Primitives

/// A factor with which a person authenticates. Pass one of the subclasses below to
/// ``AuthenticationUserInformation/sign(factor:)``.
///
/// A factor never reveals if it is correct: only the server judges factors.
public class AuthenticationFactor: CustomStringConvertible, CustomReflectable {
    /// The factor's type, as roles name the types.
    public let authenticatorType: AuthenticatorType

    init(_ authenticatorType: AuthenticatorType) { self.authenticatorType = authenticatorType }

    /// The signer; `nil` for a factor that no device of this version has.
    var supplied: SuppliedFactor? { nil }

    /// The type's name only.
    public var description: String { "AuthenticationFactor(\(self.authenticatorType))" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The device itself as a factor, without an action of the person.
public final class DeviceFactor: AuthenticationFactor {
    /// Creates the factor of this device.
    public init() { super.init(.device) }

    override var supplied: SuppliedFactor? { .device }
}

/// The PIN, which only the server can judge. A wrong PIN signs like a correct PIN, and results in a lockout when the
/// authentication is finished.
public final class PinFactor: AuthenticationFactor {
    private let pin: SecretBytes

    /// Creates a factor from the person's input. The SDK's copy is overwritten when the factor is released; the app
    /// itself must delete the text.
    public convenience init(_ pin: String) { self.init(SecretBytes(utf8: pin)) }

    /// Creates a factor from the person's input, for an app whose keyboard gives bytes (UTF-8).
    public init(_ pin: SecretBytes) {
        self.pin = pin
        super.init(.pin)
    }

    override var supplied: SuppliedFactor? { .pin(self.pin) }
}

/// A finger or face that the operating system has recognised, or will recognise when the factor signs. ``Biometrics``
/// creates the factor, or throws the reason why none is available.
public final class BiometricFactor: AuthenticationFactor {
    let witness: BiometricWitness

    init(_ witness: BiometricWitness) {
        self.witness = witness
        super.init(.biometric)
    }

    override var supplied: SuppliedFactor? { .biometric(self.witness) }
}

/// Reserved for one-time passwords: no server of this version accepts the factor.
public final class OtpFactor: AuthenticationFactor {
    /// Creates a factor that cannot sign: ``CountersignErrorCode/factorNotSupported``.
    public init() { super.init(.otp) }
}

/// Reserved for a key of another maker: no server of this version accepts the factor.
public final class YubikeyFactor: AuthenticationFactor {
    /// Creates a factor that cannot sign: ``CountersignErrorCode/factorNotSupported``.
    public init() { super.init(.yubikey) }
}
