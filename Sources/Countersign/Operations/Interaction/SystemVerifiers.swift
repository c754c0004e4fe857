public import UAFClient

/// A screen that verifies the person. All verifiers share the function, so that a class that is several verifiers
/// implements the function once.
public protocol UserVerifier: Sendable {
    /// Announces that the PIN, the password, the finger, the face or the passcode was right: the screen can close, while
    /// the server still judges the operation. Not called for a new PIN or a new password.
    ///
    /// The SDK calls the function once for each verified key, before anything is sent, and waits for its return, at most
    /// for the configured time of an answer. The default does nothing.
    func onValidCredentialsProvided() async
}

extension UserVerifier {
    /// Does nothing.
    public func onValidCredentialsProvided() {}
}

/// A screen that asks for a finger. The SDK shows nothing: the app tells the person where to put the finger.
///
/// The answer comes through the handler, from any thread, within the configured time. The call may wait for the answer
/// or return earlier. A class of the main actor can conform to this protocol.
public protocol FingerprintUserVerifier: UserVerifier {
    /// Asks for a finger. If the finger did not match, the SDK calls the function again with
    /// `context.lastRecoverableError`.
    func verifyFingerprint(context: FingerprintUserVerificationContext, handler: FingerprintUserVerificationHandler)
        async
}

/// The information for a fingerprint verifier.
public struct FingerprintUserVerificationContext: Sendable {
    /// The authenticator that asks for the finger.
    public let authenticator: AuthenticatorDescriptor
    /// The name of the person in the operation.
    public let username: Username
    /// The reason why the previous finger was not accepted.
    public let lastRecoverableError: FingerprintUserVerificationError?

    /// Creates a context. Public also for an app's own tests.
    public init(
        authenticator: AuthenticatorDescriptor, username: Username,
        lastRecoverableError: FingerprintUserVerificationError? = nil
    ) {
        self.authenticator = authenticator
        self.username = username
        self.lastRecoverableError = lastRecoverableError
    }
}

/// The reason why a finger was not accepted. The person tries again.
public struct FingerprintUserVerificationError: Hashable, Sendable {
    /// The sensor's advice, in the sensor's own words.
    public let hint: String

    /// Creates an error with the sensor's advice. Public also for an app's own tests.
    public init(hint: String) { self.hint = hint }
}

/// A handler that starts and ends the reading of a finger.
public struct FingerprintUserVerificationHandler: Sendable {
    let reply: ListeningReply<Void>

    init(listening: Answer<Void>, refusal: Answer<BiometricReading>) {
        self.reply = ListeningReply(to: listening, refusal: refusal)
    }
    /// Creates a handler for an app's own tests. Each of the two closures is called at most once.
    public init(
        listenForOsCredentials: @escaping @Sendable () -> Void, cancel: @escaping @Sendable () -> Void = {}
    ) {
        self.reply = ListeningReply({ listenForOsCredentials() }, cancel: cancel)
    }

    /// Starts the sensor: the person is ready. The first call counts.
    public func listenForOsCredentials() { self.reply.listen(()) }

    /// Gives up, before or during the reading: the operation ends with `userCanceled`, and the server is told.
    public func cancel() { self.reply.cancel() }
}

/// A screen that announces the operating system's search for a face. The SDK calls the verifier once in an operation:
/// the operating system's own dialog guides the person, and asks again if the face did not match.
///
/// The answer comes through the handler, from any thread, within the configured time. The call may wait for the answer
/// or return earlier. A class of the main actor can conform to this protocol.
public protocol BiometricUserVerifier: UserVerifier {
    /// Announces the operating system's dialog, and lets the person give up before the dialog shows.
    func verifyBiometric(context: BiometricUserVerificationContext, handler: BiometricUserVerificationHandler) async
}

/// The information for a biometric verifier.
public struct BiometricUserVerificationContext: Sendable {
    /// The authenticator that asks for the face.
    public let authenticator: AuthenticatorDescriptor
    /// The name of the person in the operation.
    public let username: Username

    /// Creates a context. Public also for an app's own tests.
    public init(authenticator: AuthenticatorDescriptor, username: Username) {
        self.authenticator = authenticator
        self.username = username
    }
}

/// A handler that starts and ends the operating system's dialog for a face.
public struct BiometricUserVerificationHandler: Sendable {
    let reply: ListeningReply<SystemPrompt>

    init(listening: Answer<SystemPrompt>, refusal: Answer<BiometricReading>) {
        self.reply = ListeningReply(to: listening, refusal: refusal)
    }
    /// Creates a handler for an app's own tests. Each of the two closures is called at most once.
    public init(
        listenForOsCredentials: @escaping @Sendable (SystemPrompt) -> Void,
        cancel: @escaping @Sendable () -> Void = {}
    ) {
        self.reply = ListeningReply(listenForOsCredentials, cancel: cancel)
    }

    /// Starts the operating system's dialog with the texts of `prompt`: the person is ready. The first call counts.
    public func listenForOsCredentials(_ prompt: SystemPrompt = SystemPrompt()) {
        self.reply.listen(prompt)
    }

    /// Gives up, before or while the dialog shows: the operation ends with `userCanceled`, and the server is told.
    public func cancel() { self.reply.cancel() }
}

/// A screen that announces the operating system's question for the device's own passcode. The SDK calls the verifier
/// once in an operation: the operating system checks the passcode and counts wrong passcodes. Neither the app nor the
/// SDK sees the passcode.
///
/// The answer comes through the handler, from any thread, within the configured time. The call may wait for the answer
/// or return earlier. A class of the main actor can conform to this protocol.
public protocol DevicePasscodeUserVerifier: UserVerifier {
    /// Announces the operating system's dialog, and lets the person give up before the dialog shows.
    func verifyDevicePasscode(
        context: DevicePasscodeUserVerificationContext, handler: DevicePasscodeUserVerificationHandler
    ) async
}

/// The information for a verifier of the device's passcode.
public struct DevicePasscodeUserVerificationContext: Sendable {
    /// The authenticator that asks for the passcode.
    public let authenticator: AuthenticatorDescriptor
    /// The name of the person in the operation.
    public let username: Username

    /// Creates a context. Public also for an app's own tests.
    public init(authenticator: AuthenticatorDescriptor, username: Username) {
        self.authenticator = authenticator
        self.username = username
    }
}

/// A handler that starts and ends the operating system's dialog for the device's passcode.
public struct DevicePasscodeUserVerificationHandler: Sendable {
    let reply: ListeningReply<SystemPrompt>

    init(listening: Answer<SystemPrompt>, refusal: Answer<DevicePasscodeReading>) {
        self.reply = ListeningReply(to: listening, refusal: refusal)
    }
    /// Creates a handler for an app's own tests. Each of the two closures is called at most once.
    public init(
        listenForOsCredentials: @escaping @Sendable (SystemPrompt) -> Void,
        cancel: @escaping @Sendable () -> Void = {}
    ) {
        self.reply = ListeningReply(listenForOsCredentials, cancel: cancel)
    }

    /// Starts the operating system's dialog with the texts of `prompt`: the person is ready. The first call counts.
    public func listenForOsCredentials(_ prompt: SystemPrompt = SystemPrompt()) {
        self.reply.listen(prompt)
    }

    /// Gives up, before or while the dialog shows: the operation ends with `userCanceled`, and the server is told.
    public func cancel() { self.reply.cancel() }
}
