public import UAFClient

/// Asks for a finger. The SDK shows nothing: the app says where to put it.
///
/// The answer comes through the handler, from any thread, within the configured time; the call may wait for it or return
/// before. A class of the main actor can be one.
public protocol FingerprintUserVerifier: Sendable {
    /// Asks for a finger. Called again with `context.lastRecoverableError` where the finger did not match.
    func verifyFingerprint(context: FingerprintUserVerificationContext, handler: FingerprintUserVerificationHandler)
        async
}

/// What a fingerprint verifier needs to know.
public struct FingerprintUserVerificationContext: Sendable {
    /// Which authenticator asks.
    public let authenticator: AuthenticatorDescriptor
    /// Whose operation it is.
    public let username: Username
    /// Why the finger before did not help.
    public let lastRecoverableError: FingerprintUserVerificationError?

    /// A context, for an app's own tests too.
    public init(
        authenticator: AuthenticatorDescriptor, username: Username,
        lastRecoverableError: FingerprintUserVerificationError? = nil
    ) {
        self.authenticator = authenticator
        self.username = username
        self.lastRecoverableError = lastRecoverableError
    }
}

/// Why a finger did not help. The person tries again.
public struct FingerprintUserVerificationError: Hashable, Sendable {
    /// The sensor's advice, in its own words.
    public let hint: String

    /// That advice, for an app's own tests too.
    public init(hint: String) { self.hint = hint }
}

/// Starts and ends the reading of a finger.
public struct FingerprintUserVerificationHandler: Sendable {
    let reply: ListeningReply<Void>

    init(listening: Answer<Void>, refusal: Answer<BiometricReading>) {
        self.reply = ListeningReply(to: listening, refusal: refusal)
    }
    /// A handler for an app's own tests: each of the two is called once at most.
    public init(
        listenForOsCredentials: @escaping @Sendable () -> Void, cancel: @escaping @Sendable () -> Void = {}
    ) {
        self.reply = ListeningReply({ listenForOsCredentials() }, cancel: cancel)
    }

    /// The person is ready: the sensor begins to read. The first call counts.
    public func listenForOsCredentials() { self.reply.listen(()) }

    /// Gives up, before or while the sensor reads: the operation ends with `userCanceled`, and the server hears of it.
    public func cancel() { self.reply.cancel() }
}

/// Announces that the operating system looks for a face. Called once in an operation: the operating system's own dialog
/// says where to look, and asks again where the face did not match.
///
/// The answer comes through the handler, from any thread, within the configured time; the call may wait for it or return
/// before. A class of the main actor can be one.
public protocol BiometricUserVerifier: Sendable {
    /// Announces the operating system's dialog, and lets the person give up before it shows.
    func verifyBiometric(context: BiometricUserVerificationContext, handler: BiometricUserVerificationHandler) async
}

/// What a biometric verifier needs to know.
public struct BiometricUserVerificationContext: Sendable {
    /// Which authenticator asks.
    public let authenticator: AuthenticatorDescriptor
    /// Whose operation it is.
    public let username: Username

    /// A context, for an app's own tests too.
    public init(authenticator: AuthenticatorDescriptor, username: Username) {
        self.authenticator = authenticator
        self.username = username
    }
}

/// Starts and ends the operating system's dialog for a face.
public struct BiometricUserVerificationHandler: Sendable {
    let reply: ListeningReply<SystemPrompt>

    init(listening: Answer<SystemPrompt>, refusal: Answer<BiometricReading>) {
        self.reply = ListeningReply(to: listening, refusal: refusal)
    }
    /// A handler for an app's own tests: each of the two is called once at most.
    public init(
        listenForOsCredentials: @escaping @Sendable (SystemPrompt) -> Void,
        cancel: @escaping @Sendable () -> Void = {}
    ) {
        self.reply = ListeningReply(listenForOsCredentials, cancel: cancel)
    }

    /// The person is ready: the operating system's dialog shows, with the texts of `prompt`. The first call counts.
    public func listenForOsCredentials(_ prompt: SystemPrompt = SystemPrompt()) {
        self.reply.listen(prompt)
    }

    /// Gives up, before or while the dialog shows: the operation ends with `userCanceled`, and the server hears of it.
    public func cancel() { self.reply.cancel() }
}

/// Announces that the operating system asks for the device's own passcode. Called once in an operation: the operating
/// system judges the passcode and counts wrong ones; neither the app nor the SDK sees it.
///
/// The answer comes through the handler, from any thread, within the configured time; the call may wait for it or return
/// before. A class of the main actor can be one.
public protocol DevicePasscodeUserVerifier: Sendable {
    /// Announces the operating system's dialog, and lets the person give up before it shows.
    func verifyDevicePasscode(
        context: DevicePasscodeUserVerificationContext, handler: DevicePasscodeUserVerificationHandler
    ) async
}

/// What a verifier of the device's passcode needs to know.
public struct DevicePasscodeUserVerificationContext: Sendable {
    /// Which authenticator asks.
    public let authenticator: AuthenticatorDescriptor
    /// Whose operation it is.
    public let username: Username

    /// A context, for an app's own tests too.
    public init(authenticator: AuthenticatorDescriptor, username: Username) {
        self.authenticator = authenticator
        self.username = username
    }
}

/// Starts and ends the operating system's dialog for the device's passcode.
public struct DevicePasscodeUserVerificationHandler: Sendable {
    let reply: ListeningReply<SystemPrompt>

    init(listening: Answer<SystemPrompt>, refusal: Answer<DevicePasscodeReading>) {
        self.reply = ListeningReply(to: listening, refusal: refusal)
    }
    /// A handler for an app's own tests: each of the two is called once at most.
    public init(
        listenForOsCredentials: @escaping @Sendable (SystemPrompt) -> Void,
        cancel: @escaping @Sendable () -> Void = {}
    ) {
        self.reply = ListeningReply(listenForOsCredentials, cancel: cancel)
    }

    /// The person is ready: the operating system's dialog shows, with the texts of `prompt`. The first call counts.
    public func listenForOsCredentials(_ prompt: SystemPrompt = SystemPrompt()) {
        self.reply.listen(prompt)
    }

    /// Gives up, before or while the dialog shows: the operation ends with `userCanceled`, and the server hears of it.
    public func cancel() { self.reply.cancel() }
}
