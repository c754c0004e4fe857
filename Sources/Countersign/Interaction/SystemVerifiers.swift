public import UAFClient

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

/// Announces that the operating system looks for a face. Called once in an operation: the operating system's own dialog
/// says where to look, and asks again where the face did not match.
///
/// The call returns at once; the answer comes through the handler, from any thread, within the configured time.
public protocol BiometricUserVerifier: Sendable {
    /// Announces the operating system's dialog, and lets the person give up before it shows.
    func verifyBiometric(context: BiometricUserVerificationContext, handler: BiometricUserVerificationHandler)
}

/// What a biometric verifier needs to know.
public struct BiometricUserVerificationContext: Sendable {
    /// Which authenticator asks.
    public let authenticator: AuthenticatorDescriptor
    /// Whose operation it is.
    public let username: Username
}

/// Starts and ends the operating system's dialog for a face.
public struct BiometricUserVerificationHandler: Sendable {
    let listening: Answer<SystemPrompt>
    let refusal: Answer<BiometricReading>

    /// The person is ready: the operating system's dialog shows, with the texts of `prompt`. The first call counts.
    public func listenForOsCredentials(_ prompt: SystemPrompt = SystemPrompt()) {
        self.listening.give(.success(prompt))
    }

    /// Gives up, before or while the dialog shows: the operation ends with `userCanceled`, and the server hears of it.
    public func cancel() {
        self.listening.give(.failure(UserVerificationError.cancelled))
        self.refusal.give(.failure(UserVerificationError.cancelled))
    }
}

/// Announces that the operating system asks for the device's own passcode. Called once in an operation: the operating
/// system judges the passcode and counts wrong ones; neither the app nor the SDK sees it.
///
/// The call returns at once; the answer comes through the handler, from any thread, within the configured time.
public protocol DevicePasscodeUserVerifier: Sendable {
    /// Announces the operating system's dialog, and lets the person give up before it shows.
    func verifyDevicePasscode(
        context: DevicePasscodeUserVerificationContext, handler: DevicePasscodeUserVerificationHandler)
}

/// What a verifier of the device's passcode needs to know.
public struct DevicePasscodeUserVerificationContext: Sendable {
    /// Which authenticator asks.
    public let authenticator: AuthenticatorDescriptor
    /// Whose operation it is.
    public let username: Username
}

/// Starts and ends the operating system's dialog for the device's passcode.
public struct DevicePasscodeUserVerificationHandler: Sendable {
    let listening: Answer<SystemPrompt>
    let refusal: Answer<DevicePasscodeReading>

    /// The person is ready: the operating system's dialog shows, with the texts of `prompt`. The first call counts.
    public func listenForOsCredentials(_ prompt: SystemPrompt = SystemPrompt()) {
        self.listening.give(.success(prompt))
    }

    /// Gives up, before or while the dialog shows: the operation ends with `userCanceled`, and the server hears of it.
    public func cancel() {
        self.listening.give(.failure(UserVerificationError.cancelled))
        self.refusal.give(.failure(UserVerificationError.cancelled))
    }
}
