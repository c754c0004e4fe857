import UAF
public import UAFClient
import _Primitives

/// Asks for a new PIN during a registration.
///
/// The call returns at once; the answer comes through the handler, from any thread, within the configured time.
public protocol PinEnroller: Sendable {
    /// Asks for a new PIN. Called again with `context.lastRecoverableError` where the PIN does not meet the policy.
    func enrollPin(context: PinEnrollmentContext, handler: PinEnrollmentHandler)

    /// How long a PIN must be: by default six digits.
    func pinPolicy() -> PinPolicy
}

extension PinEnroller {
    /// Six digits.
    public func pinPolicy() -> PinPolicy { PinPolicy() }
}

/// How long a PIN must be, in decimal digits.
public struct PinPolicy: Hashable, Sendable {
    /// The fewest digits.
    public var minLength: Int
    /// The most digits.
    public var maxLength: Int

    /// Six digits unless it is given.
    public init(minLength: Int = 6, maxLength: Int = 6) {
        self.minLength = minLength
        self.maxLength = maxLength
    }

    /// Whether a PIN is of ASCII digits alone and of the right length.
    public func accepts(_ pin: String) -> Bool {
        pin.utf8.count >= max(1, self.minLength) && pin.utf8.count <= self.maxLength
            && pin.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}

/// What a PIN enroller needs to know.
public struct PinEnrollmentContext: Sendable {
    /// For whom the PIN is.
    public let username: Username
    /// Why the PIN before was not taken.
    public let lastRecoverableError: PinEnrollmentError?
}

/// Why a new PIN was not taken. The person chooses another.
public enum PinEnrollmentError: Hashable, Sendable {
    /// Not of the policy's length, or not of digits.
    case invalidPinFormat
}

/// Takes the answer of a PIN enroller. The first call counts.
public struct PinEnrollmentHandler: Sendable {
    let answer: Answer<String>

    /// The new PIN.
    public func pin(_ pin: String) { self.answer.give(.success(pin)) }
    /// Gives up: the operation ends with `userCanceled`.
    public func cancel() { self.answer.give(.failure(UserVerificationError.cancelled)) }
}

/// Asks for the PIN during an authentication.
///
/// The call returns at once; the answer comes through the handler, from any thread, within the configured time.
public protocol PinUserVerifier: Sendable {
    /// Asks for the PIN. Called again with `context.lastRecoverableError` until the PIN is right, the person gives up,
    /// or the tries are used up.
    func verifyPin(context: PinUserVerificationContext, handler: PinUserVerificationHandler)
}

/// What a PIN verifier needs to know.
public struct PinUserVerificationContext: Sendable {
    /// Which authenticator asks.
    public let authenticator: AuthenticatorDescriptor
    /// Whose PIN it is.
    public let username: Username
    /// How many tries are left and how long to wait for the next.
    public let authenticatorProtectionStatus: PinAuthenticatorProtectionStatus
    /// Why the PIN before did not help.
    public let lastRecoverableError: PinUserVerificationError?
}

/// Why a PIN did not help. The person tries again.
public enum PinUserVerificationError: Hashable, Sendable {
    /// Not the PIN; the try is counted.
    case invalidPin
    /// Given before the waiting time was over: neither checked nor counted.
    case coolingDown
}

/// Takes the answer of a PIN verifier. The first call counts.
public struct PinUserVerificationHandler: Sendable {
    let answer: Answer<String>

    /// The PIN that the person typed.
    public func verifyPin(_ pin: String) { self.answer.give(.success(pin)) }
    /// Gives up: the operation ends with `userCanceled`, and the server hears of it.
    public func cancel() { self.answer.give(.failure(UserVerificationError.cancelled)) }
}

/// Asks for a finger. The SDK shows nothing: the app says where to put it.
///
/// The call returns at once; the answer comes through the handler, from any thread, within the configured time.
public protocol FingerprintUserVerifier: Sendable {
    /// Asks for a finger. Called again with `context.lastRecoverableError` where the finger did not match.
    func verifyFingerprint(context: FingerprintUserVerificationContext, handler: FingerprintUserVerificationHandler)
}

/// What a fingerprint verifier needs to know.
public struct FingerprintUserVerificationContext: Sendable {
    /// Which authenticator asks.
    public let authenticator: AuthenticatorDescriptor
    /// Whose operation it is.
    public let username: Username
    /// Why the finger before did not help.
    public let lastRecoverableError: FingerprintUserVerificationError?
}

/// Why a finger did not help. The person tries again.
public struct FingerprintUserVerificationError: Hashable, Sendable {
    /// The sensor's advice, in its own words.
    public let hint: String
}

/// Starts and ends the reading of a finger.
public struct FingerprintUserVerificationHandler: Sendable {
    let listening: Answer<Bool>
    let refusal: Answer<BiometricReading>

    /// The person is ready: the sensor begins to read. The first call counts.
    public func listenForOsCredentials() { self.listening.give(.success(true)) }

    /// Gives up, before or while the sensor reads: the operation ends with `userCanceled`, and the server hears of it.
    public func cancel() {
        self.listening.give(.failure(UserVerificationError.cancelled))
        self.refusal.give(.failure(UserVerificationError.cancelled))
    }
}

/// The app's screens as the authenticators see them.
struct AppInteraction: UserInteraction {
    let username: Username
    let patience: Patience
    /// The device's authenticators by their AAID.
    let descriptors: [Aaid: AuthenticatorDescriptor]
    var pinEnroller: (any PinEnroller)?
    var pinUserVerifier: (any PinUserVerifier)?
    var fingerprintUserVerifier: (any FingerprintUserVerifier)?

    func enrollSecret(_ model: AuthenticatorModel) async throws -> SecretBytes {
        guard let pinEnroller, model.factor == .pin else { throw UserVerificationError.unavailable }
        let policy = pinEnroller.pinPolicy()
        var lastError: PinEnrollmentError?
        while true {
            let context = PinEnrollmentContext(username: self.username, lastRecoverableError: lastError)
            let pin = try await self.patience.ask { answer in
                pinEnroller.enrollPin(context: context, handler: PinEnrollmentHandler(answer: answer))
            }
            if policy.accepts(pin) { return SecretBytes(utf8: pin) }
            lastError = .invalidPinFormat
        }
    }

    func verifySecret(_ model: AuthenticatorModel, status: AuthenticatorProtectionStatus, lastError: SecretRefusal?)
        async throws -> SecretBytes
    {
        guard let pinUserVerifier, model.factor == .pin, let descriptor = self.descriptors[model.aaid.text] else {
            throw UserVerificationError.unavailable
        }
        let context = PinUserVerificationContext(
            authenticator: descriptor, username: self.username, authenticatorProtectionStatus: status,
            lastRecoverableError: lastError.map { $0 == .wrong ? .invalidPin : .coolingDown })
        let pin = try await self.patience.ask { answer in
            pinUserVerifier.verifyPin(context: context, handler: PinUserVerificationHandler(answer: answer))
        }
        return SecretBytes(utf8: pin)
    }

    func verifyBiometric(
        _ model: AuthenticatorModel, hint: String?, read: @escaping @Sendable () async throws -> BiometricReading
    ) async throws -> BiometricReading {
        guard let fingerprintUserVerifier, model.factor == .fingerprint,
            let descriptor = self.descriptors[model.aaid.text]
        else { throw UserVerificationError.unavailable }
        let context = FingerprintUserVerificationContext(
            authenticator: descriptor, username: self.username,
            lastRecoverableError: hint.map(FingerprintUserVerificationError.init(hint:)))
        let refusal = Answer<BiometricReading>()
        _ = try await self.patience.ask { listening in
            fingerprintUserVerifier.verifyFingerprint(
                context: context, handler: FingerprintUserVerificationHandler(listening: listening, refusal: refusal))
        }
        return try await self.patience.first(unless: refusal, read)
    }

    func verifyDevicePasscode(
        _ model: AuthenticatorModel, ask: @escaping @Sendable () async throws -> DevicePasscodeReading
    ) async throws -> DevicePasscodeReading { throw UserVerificationError.unavailable }
}
