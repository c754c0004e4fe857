public import UAF
public import _Primitives

/// What a person authenticates with: one of the kinds below, given to ``AuthenticationUserInformation/sign(factor:)``.
///
/// A factor never says whether it is the right one: that only the server judges.
public class AuthenticationFactor: CustomStringConvertible, CustomReflectable {
    /// Which of the types that roles ask for it is.
    public let authenticatorType: AuthenticatorType

    init(_ authenticatorType: AuthenticatorType) { self.authenticatorType = authenticatorType }

    /// What signs; `nil` for a factor that no device of this version has.
    var supplied: SuppliedFactor? { nil }

    /// The type alone.
    public var description: String { "AuthenticationFactor(\(self.authenticatorType))" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The device itself, without anybody's doing.
public final class DeviceFactor: AuthenticationFactor {
    /// This device.
    public init() { super.init(.device) }

    override var supplied: SuppliedFactor? { .device }
}

/// The PIN that only the server can judge. A wrong one signs as a right one does, and comes out as a lockout when the
/// authentication is finished.
public final class PinFactor: AuthenticationFactor {
    private let pin: SecretBytes

    /// What the person typed. The SDK's copy is overwritten once the factor is gone; the text is the app's to forget.
    public convenience init(_ pin: String) { self.init(SecretBytes(utf8: pin)) }

    /// What the person typed, for an app whose keyboard gives bytes (UTF-8).
    public init(_ pin: SecretBytes) {
        self.pin = pin
        super.init(.pin)
    }

    override var supplied: SuppliedFactor? { .pin(self.pin) }
}

/// A finger or a face that the operating system has recognised, or will when the factor signs. Made by ``Biometrics``, which
/// says why there is none.
public final class BiometricFactor: AuthenticationFactor {
    let witness: BiometricWitness

    init(_ witness: BiometricWitness) {
        self.witness = witness
        super.init(.biometric)
    }

    override var supplied: SuppliedFactor? { .biometric(self.witness) }
}

/// Reserved for one-time passwords: no server of this version takes it.
public final class OtpFactor: AuthenticationFactor {
    /// A factor that does not sign: ``CountersignErrorCode/factorNotSupported``.
    public init() { super.init(.otp) }
}

/// Reserved for a key of another maker: no server of this version takes it.
public final class YubikeyFactor: AuthenticationFactor {
    /// A factor that does not sign: ``CountersignErrorCode/factorNotSupported``.
    public init() { super.init(.yubikey) }
}
